// Who this process is in its job, from explicit arguments, PEAL_*, or the launcher's own variables.
#pragma once

#include <optional>
#include <string>

#include "base/settings.h"
#include "transports/transport.h"

namespace peal {

struct Launch {
  int rank = 0;
  int size = 1;
  int local_size = 0;  // ranks on this host as the launcher says, 0: unknown
  std::string root;    // host:port, [ipv6]:port or unix:NAME (abstract socket); empty only when size is 1
  JobKey key{};
  bool key_is_secret = false;  // false: derived from the job's public id; then a warning is logged
  std::string source;          // "explicit", "PEAL_*", "torchrun", "Open MPI", "PMI", "Slurm", "alone"
};

// In this order: PEAL_RANK/PEAL_SIZE/PEAL_ROOT (settings), torchrun (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT), Open
// MPI (OMPI_COMM_WORLD_*), PMI/PMIx (PMI_RANK, PMI_SIZE; PMIX_RANK, PMIX_NAMESPACE), Slurm (SLURM_PROCID, SLURM_NTASKS,
// ...), else alone. A job on one host needs no root: it meets on an abstract Unix socket named after the job's id. A
// job on several hosts whose launcher names none throws Error(kInvalidArgument) saying to set PEAL_ROOT. rank out of
// range, size < 1, half of a pair set: Error(kInvalidArgument) naming variable and value.
PEAL_API Launch launch_from(const Settings& settings, const Environment& environment);

// 64 hex digits are taken as they are; any other non-empty text is hashed (BLAKE2b-256).
PEAL_API JobKey parse_key(const std::string& text);

// A fresh random key as 64 hex digits, for launchers.
PEAL_API std::string random_key_text();

// A fresh name for an abstract Unix socket, "unix:peal-<random>", for launchers on one host and for tests.
PEAL_API std::string random_unix_root();

}  // namespace peal
