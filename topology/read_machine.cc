#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/error.h"
#include "topology/read.h"

namespace peal {
namespace {

Error unreadable(std::string_view name, const std::string& what) {
  return Error(ErrorCode::kInvalidArgument, fmt::format("{}: {}", name, what));
}

class File {
 public:
  explicit File(const std::string& path) : number_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (number_ < 0) throw system_error(fmt::format("{}: can't be opened", path), errno);
  }
  ~File() { close(number_); }
  File(const File&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

// The whole file. Not more than the limit, however it grows, and nothing that could block or never end.
std::string contents(const std::string& path) {
  const File file(path);
  struct stat status {};
  fstat(file.number(), &status);
  if (!S_ISREG(status.st_mode)) throw unreadable(path, "expected a file, found a folder or device");
  std::string text;
  std::array<char, 1 << 16> part;
  for (ssize_t got; (got = read(file.number(), part.data(), part.size())) != 0;) {
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw system_error(fmt::format("{}: can't be read", path), errno);
    text.append(part.data(), static_cast<size_t>(got));
    if (text.size() > kLargestMachineFile) {
      throw unreadable(path, fmt::format("expected at most {} MiB, found more", kLargestMachineFile >> 20));
    }
  }
  return text;
}

std::string_view without_leading_space(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // a byte order mark
  const size_t first = text.find_first_not_of(" \t\r\n");
  return first == text.npos ? std::string_view() : text.substr(first);
}

// The name of the outermost element: what comes after declarations and comments.
std::string_view root_element(std::string_view text) {
  while (text.starts_with("<?") || text.starts_with("<!")) {
    std::string_view end = text.starts_with("<!--") ? "-->" : ">";
    if (text.starts_with("<!DOCTYPE") && text.find('[') < text.find('>')) end = "]>";  // declarations inside
    const size_t at = text.find(end);
    if (at == text.npos) return "";
    text = without_leading_space(text.substr(at + end.size()));
  }
  if (!text.starts_with('<')) return "";
  return text.substr(1, text.find_first_of(" \t\r\n/>", 1) - 1);
}

std::string beginning(std::string_view text) {
  std::string shown;
  for (const char c : text.substr(0, 32)) {
    shown += c >= ' ' && c <= '~' ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return shown;
}

}  // namespace

Machine parse_machine(std::string_view text, std::string_view name) {
  const std::string_view body = without_leading_space(text);
  if (body.starts_with('{')) return parse_json(body, name);
  if (body.starts_with('<')) {
    const std::string_view root = root_element(body);
    if (root == "topology") return parse_hwloc_xml(text, name);
    if (root == "system") return parse_nccl_xml(text, name);
    throw unreadable(name, fmt::format("expected <topology> (hwloc) or <system> (NCCL), found <{}>", beginning(root)));
  }
  if (body.find("GPU0") != body.npos && body.find('\n') != body.npos) return parse_nvidia_smi(text, name);
  if (!body.empty() &&
      std::all_of(body.begin(), body.end(), [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); })) {
    return parse_synthetic(body, name);
  }
  throw unreadable(name, fmt::format("expected JSON, XML of hwloc or NCCL, a table of nvidia-smi or a synthetic "
                                     "description, found '{}'",
                                     beginning(body)));
}

Machine read_machine(const std::string& path) { return parse_machine(contents(path), path); }

const Machine& this_machine() {
  static const Machine machine = discover_machine(Cut::kCgroup);
  return machine;
}

Machine machine_or_file(const std::string& file, Cut cut) {
  const auto here = [&] { return cut == Cut::kCgroup ? this_machine() : discover_machine(cut); };
  if (file.empty()) return here();
  try {
    return read_machine(file);
  } catch (const Error& error) {
    Machine machine = here();
    machine.warnings.push_back({"PEAL_TOPO_FILE", 0, fmt::format("is not used: {}", error.what())});
    return machine;
  }
}

}  // namespace peal
