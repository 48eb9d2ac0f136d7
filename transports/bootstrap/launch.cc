#include "transports/bootstrap/launch.h"

#include <fmt/format.h>
#include <sodium.h>
#include <unistd.h>

#include <charconv>
#include <cstring>

#include "transports/bootstrap/root_address.h"
#include "transports/bootstrap/slurm_nodes.h"

namespace peal {
namespace {

// What a launcher tells each of its processes. The first variable of a list that is set counts.
struct Launcher {
  std::string_view source;
  std::vector<std::string_view> rank, size, local_size;
  std::vector<std::string_view> job;  // together they name the job, alike on all ranks
  // Where to meet when ranks are on several hosts; "" when the launcher doesn't say.
  std::string (*root)(const Environment&, const std::string& job);
};

std::string value_of(const Environment& environment, std::string_view name) {
  auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

std::string_view first_set(const Environment& environment, const std::vector<std::string_view>& names) {
  for (std::string_view name : names) {
    if (!value_of(environment, name).empty()) return name;
  }
  return "";
}

int number_in(const Environment& environment, std::string_view name) {
  std::string text = value_of(environment, name);
  int value = -1;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc{} && end == text.data() + text.size()) return value;
  throw Error(ErrorCode::kInvalidArgument, fmt::format("{} is \"{}\": expected a whole number", name, text));
}

std::string hex_hash(std::string_view text, size_t bytes) {
  uint8_t hash[32];
  ::crypto_generichash(hash, sizeof hash, reinterpret_cast<const uint8_t*>(text.data()), text.size(), nullptr, 0);
  std::string hex;
  for (size_t i = 0; i < bytes; ++i) hex += fmt::format("{:02x}", hash[i]);
  return hex;
}

// torchrun's own store listens at MASTER_PORT, so ours takes the next one.
std::string torchrun_root(const Environment& environment, const std::string&) {
  std::string host = value_of(environment, "MASTER_ADDR");
  if (host.empty() || value_of(environment, "MASTER_PORT").empty()) return "";
  int port = number_in(environment, "MASTER_PORT") + 1;
  if (port < 2 || port > 65535) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("MASTER_PORT is {}: expected 1 to 65534, since peal meets at MASTER_PORT + 1", port - 1));
  }
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
}

// Rank 0 is on the first node; the port is a function of the job, in 20000..39999, where services rarely are.
std::string slurm_root(const Environment& environment, const std::string& job) {
  std::string_view name = first_set(environment, {"SLURM_STEP_NODELIST", "SLURM_NODELIST", "SLURM_JOB_NODELIST"});
  if (name.empty()) return "";
  unsigned hash = std::stoul(hex_hash(job, 4), nullptr, 16) & 0xffffffffu;
  return fmt::format("{}:{}", first_slurm_node(value_of(environment, name)), 20000 + hash % 20000);
}

std::string no_root(const Environment&, const std::string&) { return ""; }

const std::vector<Launcher>& launchers() {
  static const std::vector<Launcher> kLaunchers = {
      {"torchrun",
       {"RANK"},
       {"WORLD_SIZE"},
       {"LOCAL_WORLD_SIZE"},
       {"TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT"},
       torchrun_root},
      {"Open MPI",
       {"OMPI_COMM_WORLD_RANK"},
       {"OMPI_COMM_WORLD_SIZE"},
       {"OMPI_COMM_WORLD_LOCAL_SIZE"},
       {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"},
       no_root},
      {"PMI",
       {"PMI_RANK"},
       {"PMI_SIZE"},
       {"MPI_LOCALNRANKS"},
       {"PMI_JOBID", "PMI_KVSNAME", "HYDRA_JOBID", "PMI_PORT"},
       no_root},
      // PMIx says no size in variables: srun's or prun's stands in.
      {"PMIx",
       {"PMIX_RANK"},
       {"PMIX_SIZE", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"},
       {"PMIX_LOCAL_SIZE"},
       {"PMIX_NAMESPACE"},
       slurm_root},
      {"Slurm",
       {"SLURM_PROCID"},
       {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"},
       {},
       {"SLURM_JOB_ID", "SLURM_STEP_ID"},
       slurm_root},
  };
  return kLaunchers;
}

void check_pair(std::string_view rank_name, int rank, std::string_view size_name, int size) {
  if (size >= 1 && rank >= 0 && rank < size) return;
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("{}={} with {}={}: expected 0 <= rank < size", rank_name, rank, size_name, size));
}

[[noreturn]] void throw_half(std::string_view set, std::string_view missing) {
  throw Error(ErrorCode::kInvalidArgument, fmt::format("{} is set but {} is not: both or neither", set, missing));
}

// Which of a launcher's pair are set: both, or none, or (an error) half.
bool speaks(const Launcher& launcher, const Environment& environment) {
  std::string_view rank = first_set(environment, launcher.rank), size = first_set(environment, launcher.size);
  // A batch script or an allocation's shell has Slurm's size, but only srun starts ranks.
  if (launcher.source == "Slurm" && value_of(environment, "SLURM_STEP_ID").empty()) return false;
  // PMIx lends its size from Slurm, which is a launcher of its own; and its rank alone says nothing when another
  // launcher that was asked before has said all.
  if (launcher.source == "PMIx" && rank.empty()) return false;
  if (rank.empty() && size.empty()) return false;
  if (size.empty()) throw_half(rank, launcher.size.front());
  if (rank.empty()) throw_half(size, launcher.rank.front());
  return true;
}

std::string job_of(const Launcher& launcher, const Environment& environment) {
  std::string job;
  for (std::string_view name : launcher.job) job += fmt::format("{}/", value_of(environment, name));
  bool is_named = job.find_first_not_of('/') != std::string::npos;
  // Ranks on one host that nobody named a job to are at least children of one process.
  return fmt::format("{}/{}", launcher.source, is_named ? job : fmt::format("parent {}", ::getppid()));
}

int local_size_of(const Launcher& launcher, const Environment& environment, int size) {
  std::string_view name = first_set(environment, launcher.local_size);
  if (!name.empty()) return number_in(environment, name);
  std::string_view nodes = first_set(environment, {"SLURM_STEP_NUM_NODES", "SLURM_NNODES"});
  bool is_slurms = launcher.source == "Slurm" || launcher.source == "PMIx";
  return is_slurms && !nodes.empty() && number_in(environment, nodes) == 1 ? size : 0;
}

Launch launch_by(const Launcher& launcher, const Environment& environment, std::string& job) {
  std::string_view rank_name = first_set(environment, launcher.rank), size_name = first_set(environment, launcher.size);
  Launch launch;
  launch.source = launcher.source;
  launch.rank = number_in(environment, rank_name);
  launch.size = number_in(environment, size_name);
  check_pair(rank_name, launch.rank, size_name, launch.size);
  job = job_of(launcher, environment);
  launch.local_size = local_size_of(launcher, environment, launch.size);
  if (launch.size == 1) return launch;
  // The user's number keeps two users' jobs with one id from meeting.
  bool one_host = launch.local_size == launch.size;
  launch.root =
      one_host ? fmt::format("unix:peal-{}-{}", ::geteuid(), hex_hash(job, 8)) : launcher.root(environment, job);
  return launch;
}

Launch launch_by_settings(const Settings& settings) {
  if (settings.size < 0) throw_half("PEAL_RANK", "PEAL_SIZE");
  if (settings.rank < 0 && settings.size > 1) throw_half("PEAL_SIZE", "PEAL_RANK");
  Launch launch;
  launch.source = "PEAL_*";
  launch.rank = settings.rank < 0 ? 0 : static_cast<int>(settings.rank);
  launch.size = static_cast<int>(settings.size);
  check_pair("PEAL_RANK", launch.rank, "PEAL_SIZE", launch.size);
  return launch;
}

Launch find_launch(const Settings& settings, const Environment& environment, std::string& job) {
  if (settings.rank >= 0 || settings.size >= 0) return launch_by_settings(settings);
  for (const Launcher& launcher : launchers()) {
    if (speaks(launcher, environment)) return launch_by(launcher, environment, job);
  }
  std::string tasks = value_of(environment, "SLURM_PROCID").empty() ? "" : value_of(environment, "SLURM_NTASKS");
  if (!tasks.empty() && tasks != "1") {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("SLURM_NTASKS is {} but this process was not started by srun, so it would be alone: use "
                            "srun, or peal-run, or set PEAL_RANK=0 PEAL_SIZE=1",
                            tasks));
  }
  Launch alone;
  alone.source = "alone";
  return alone;
}

// Where a secret is, it also names the job: ranks on one host need nothing else.
void find_root(const Settings& settings, Launch& launch) {
  if (!settings.root.empty()) launch.root = settings.root;
  if (launch.size == 1) return;
  if (launch.root.empty() && launch.source == "PEAL_*" && !settings.key.empty()) {
    launch.root = fmt::format("unix:peal-{}-{}", ::geteuid(), hex_hash("root of " + settings.key, 16));
  }
  if (launch.root.empty()) {
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("{} ranks ({}) but nothing says where they meet: set PEAL_ROOT to host:port of rank 0, or to "
                    "unix:NAME when all are on one host",
                    launch.size, launch.source));
  }
  RootAddress root = parse_root(launch.root);
  if (!root.unix_name.empty() && launch.local_size == 0) launch.local_size = launch.size;
}

// Public: it keeps two jobs apart but no attacker out. Not from the root's host, which ranks may write differently.
JobKey public_key(const Launch& launch, const std::string& job) {
  RootAddress root;
  if (!launch.root.empty()) root = parse_root(launch.root);
  return parse_key(fmt::format("public key of job {} at {}{}", job, root.unix_name, root.port));
}

}  // namespace

Launch launch_from(const Settings& settings, const Environment& environment) {
  std::string job;
  Launch launch = find_launch(settings, environment, job);
  find_root(settings, launch);
  launch.key_is_secret = !settings.key.empty();
  // A root that the user gave names the job better than a launcher on one of several hosts can.
  launch.key = launch.key_is_secret ? parse_key(settings.key) : public_key(launch, settings.root.empty() ? job : "");
  return launch;
}

JobKey parse_key(const std::string& text) {
  JobKey key{};
  if (text.empty()) throw Error(ErrorCode::kInvalidArgument, "PEAL_KEY is empty: expected 64 hex digits or any text");
  size_t bytes = 0;
  bool is_hex = text.size() == 2 * key.size() &&
                ::sodium_hex2bin(key.data(), key.size(), text.data(), text.size(), nullptr, &bytes, nullptr) == 0;
  if (is_hex && bytes == key.size()) return key;
  ::crypto_generichash(key.data(), key.size(), reinterpret_cast<const uint8_t*>(text.data()), text.size(), nullptr, 0);
  return key;
}

std::string random_key_text() {
  if (::sodium_init() < 0) throw Error(ErrorCode::kSystem, "libsodium can't start: no source of random numbers");
  JobKey key;
  ::randombytes_buf(key.data(), key.size());
  std::string text(2 * key.size() + 1, '\0');
  ::sodium_bin2hex(text.data(), text.size(), key.data(), key.size());
  text.pop_back();
  return text;
}

std::string random_unix_root() { return "unix:peal-" + random_key_text().substr(0, 16); }

}  // namespace peal
