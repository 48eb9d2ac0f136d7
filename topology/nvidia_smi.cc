// The table that `nvidia-smi topo -m` prints: how each GPU and NIC reaches each other one, in words. The tree is made
// up so that it gives these words back.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "topology/cpu_list.h"
#include "topology/defaults.h"
#include "topology/device_links.h"
#include "topology/path.h"
#include "topology/read.h"

namespace peal {
namespace {

constexpr size_t kMostDevices = 256;

struct Cell {
  PathKind kind = PathKind::kSelf;
  int nvlinks = 0;  // NV#
};

struct Row {
  std::string name;
  int line = 0;
  bool gpu = false;
  std::vector<Cell> cells;
  std::vector<int> cpus;  // CPU affinity
  int numa = -1;
};

using Words = std::vector<std::string>;

// Without what makes terminals underline.
Words words_of(std::string_view line) {
  Words words;
  std::string word;
  const auto end = [&] {
    if (!word.empty()) words.push_back(std::exchange(word, ""));
  };
  for (size_t i = 0; i < line.size(); i++) {
    if (line[i] == '\x1b') {
      while (i < line.size() && line[i] != 'm') i++;
    } else if (line[i] == ' ' || line[i] == '\t' || line[i] == '\r') {
      end();
    } else {
      word += line[i];
    }
  }
  end();
  return words;
}

std::optional<Cell> cell_of(const std::string& word) {
  static const std::map<std::string, PathKind> kKinds = {
      {"X", PathKind::kSelf},    {"PIX", PathKind::kPix}, {"PXB", PathKind::kPxb}, {"PHB", PathKind::kPhb},
      {"NODE", PathKind::kNode}, {"SYS", PathKind::kSys}, {"SOC", PathKind::kSys}};  // SOC: before 2016
  if (const auto known = kKinds.find(word); known != kKinds.end()) return Cell{known->second, 0};
  int links = 0;
  const char* const end = word.data() + word.size();
  if (!word.starts_with("NV") || std::from_chars(word.data() + 2, end, links).ptr != end || links < 1)
    return std::nullopt;
  return Cell{PathKind::kNvlink, links};
}

bool is_device_name(const std::string& word) {
  return word.starts_with("GPU") || word.starts_with("NIC") || word.find('_') != word.npos;
}

// Which devices are joined, directly or through others.
class Groups {
 public:
  explicit Groups(size_t size) : parent_(size) { std::iota(parent_.begin(), parent_.end(), size_t{0}); }
  size_t of(size_t one) {
    while (parent_[one] != one) one = parent_[one] = parent_[parent_[one]];
    return one;
  }
  void join(size_t a, size_t b) { parent_[std::max(of(a), of(b))] = std::min(of(a), of(b)); }

 private:
  std::vector<size_t> parent_;
};

class Reader {
 public:
  Reader(Machine& machine, std::string_view name) : machine_(machine), name_(name) {}
  void read(std::string_view text);

 private:
  [[noreturn]] void fail(int line, const std::string& what) const {
    throw Error(ErrorCode::kInvalidArgument, fmt::format("{}: line {}: {}", name_, line, what));
  }
  void read_header(const Words& words, int line);
  void read_row(const Words& words, int line);
  void check_symmetry();
  Groups grouped(PathKind most) const;
  void build();
  int add(Object object) {
    host_.objects.push_back(std::move(object));
    return static_cast<int>(host_.objects.size()) - 1;
  }
  void compare();
  std::string device(size_t row) const {
    const auto known = nic_names_.find(rows_[row].name);
    return rows_[row].name + (known == nic_names_.end() ? "" : " (" + known->second + ")");
  }

  Machine& machine_;
  std::string_view name_;
  Host host_;
  Words columns_;
  int header_line_ = 0;
  std::vector<Row> rows_;
  std::map<std::string, std::string> nic_names_;  // of the legend: NIC0 -> mlx5_0
  std::vector<int> objects_;                      // by row
};

void Reader::read_header(const Words& words, int line) {
  for (const std::string& word : words) {
    if (!is_device_name(word)) break;  // "CPU Affinity" and the like
    columns_.push_back(word);
  }
  if (columns_.size() > kMostDevices)
    fail(line, fmt::format("expected at most {} devices, found {}", kMostDevices, columns_.size()));
  header_line_ = line;
}

void Reader::read_row(const Words& words, int line) {
  Row row{words[0], line, words[0].starts_with("GPU"), {}, {}, -1};
  if (words[0] != columns_[rows_.size()]) {
    fail(line, fmt::format("expected the row of {}, found {}", columns_[rows_.size()], words[0]));
  }
  for (size_t i = 0; i < columns_.size(); i++) {
    const auto cell = i + 1 < words.size() ? cell_of(words[i + 1]) : std::nullopt;
    if (!cell) {
      fail(line,
           fmt::format("expected X, NV#, PIX, PXB, PHB, NODE or SYS between {} and {}, found {}", words[0], columns_[i],
                       i + 1 < words.size() ? "'" + words[i + 1].substr(0, 20) + "'" : "the line's end"));
    }
    row.cells.push_back(*cell);
  }
  const size_t next = columns_.size() + 1;
  if (row.gpu && next < words.size()) row.cpus = parse_cpu_list(words[next]).value_or(std::vector<int>{});
  if (row.gpu && next + 1 < words.size()) {
    const auto numa = parse_cpu_list(words[next + 1]);  // one number; "N/A" where there is none
    if (numa && numa->size() == 1) row.numa = numa->front();
  }
  rows_.push_back(row);
}

// Of two words for one pair, the farther one counts.
void Reader::check_symmetry() {
  for (size_t a = 0; a < rows_.size(); a++) {
    if (rows_[a].cells[a].kind != PathKind::kSelf) {
      fail(rows_[a].line, fmt::format("expected X between {} and itself, found another word", rows_[a].name));
    }
    for (size_t b = a + 1; b < rows_.size(); b++) {
      Cell &there = rows_[a].cells[b], &back = rows_[b].cells[a];
      if (there.kind == PathKind::kSelf || back.kind == PathKind::kSelf) {
        fail(rows_[a].line,
             fmt::format("expected X on the diagonal alone, found it between {} and {}", rows_[a].name, rows_[b].name));
      }
      if (there.kind == back.kind && there.nvlinks == back.nvlinks) continue;
      const bool take_back = back.kind > there.kind || (back.kind == there.kind && back.nvlinks < there.nvlinks);
      machine_.warnings.push_back(
          {device(a), rows_[a].line,
           fmt::format("reaches {} by {}{}, which reaches it by {}{} (line {}): the farther one counts", device(b),
                       name_of(there.kind), there.nvlinks > 0 ? fmt::format(" {}", there.nvlinks) : "",
                       name_of(back.kind), back.nvlinks > 0 ? fmt::format(" {}", back.nvlinks) : "", rows_[b].line)});
      (take_back ? there : back) = take_back ? back : there;
    }
  }
}

// Devices that reach each other within `most`. Where NVLink hides the PCI way, a third device that is near to both, or
// an equal NUMA node, says what it must be.
Groups Reader::grouped(PathKind most) const {
  Groups groups(rows_.size());
  for (size_t a = 0; a < rows_.size(); a++) {
    for (size_t b = a + 1; b < rows_.size(); b++) {
      const PathKind kind = rows_[a].cells[b].kind;
      const bool same_numa = rows_[a].numa >= 0 && rows_[a].numa == rows_[b].numa;
      const bool near = kind >= PathKind::kPix && kind <= most;
      if (near || (most == PathKind::kNode && same_numa)) groups.join(a, b);
    }
  }
  return groups;
}

void Reader::build() {
  add({.kind = ObjectKind::kHost, .line = header_line_});
  Groups nodes = grouped(PathKind::kNode), host_bridges = grouped(PathKind::kPhb), upper = grouped(PathKind::kPxb),
         lower = grouped(PathKind::kPix);
  std::map<size_t, int> node_of, bridge_of, upper_of, lower_of;
  int gpus = 0, nics = 0;
  for (size_t i = 0; i < rows_.size(); i++) {
    const Row& row = rows_[i];
    const auto under = [&](std::map<size_t, int>& made, size_t group, Object object) {
      const auto [place, is_new] = made.emplace(group, 0);
      if (is_new) place->second = add(std::move(object));
      return place->second;
    };
    const int node =
        under(node_of, nodes.of(i), {.kind = ObjectKind::kNumaNode, .parent = 0, .number = row.numa, .line = row.line});
    if (host_.objects[static_cast<size_t>(node)].cpus.empty()) host_.objects[static_cast<size_t>(node)].cpus = row.cpus;
    int parent =
        under(bridge_of, host_bridges.of(i), {.kind = ObjectKind::kHostBridge, .parent = node, .line = row.line});
    // A switch of switches has two bridges on the way down, or it would be one switch.
    const auto in_group = [&](Groups& groups) {
      size_t size = 0;
      for (size_t j = 0; j < rows_.size(); j++) size += groups.of(j) == groups.of(i) ? 1 : 0;
      return size;
    };
    if (in_group(upper) > in_group(lower)) {
      parent = under(upper_of, upper.of(i), {.kind = ObjectKind::kPciBridge, .parent = parent, .line = row.line});
      if (lower_of.count(lower.of(i)) == 0)
        parent = add({.kind = ObjectKind::kPciBridge, .parent = parent, .line = row.line});
    }
    parent = under(lower_of, lower.of(i), {.kind = ObjectKind::kPciBridge, .parent = parent, .line = row.line});
    Object object{.kind = row.gpu ? ObjectKind::kGpu : ObjectKind::kNic,
                  .parent = parent,
                  .number = row.gpu ? gpus++ : nics++,
                  .name = row.gpu                          ? ""
                          : nic_names_.count(row.name) > 0 ? nic_names_[row.name]
                                                           : row.name,
                  .line = row.line};
    object.up.bandwidth = {kPcieBytesPerNs, Source::kDefault};
    objects_.push_back(add(object));
  }
  std::vector<int>& all = host_.objects[0].cpus;
  for (const Row& row : rows_) all.insert(all.end(), row.cpus.begin(), row.cpus.end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  DeviceLinks links;
  for (size_t a = 0; a < rows_.size(); a++) {
    for (size_t b = 0; b < rows_.size(); b++) {
      const int count = rows_[a].cells[b].nvlinks;
      if (count == 0) continue;
      const int capped = std::min(count, 2 * kMostLinksOfADevice);
      links.add(LinkKind::kNvlink, objects_[a], objects_[b],
                {capped, {capped * nvlink_bytes_per_ns(0), Source::kDerived}, {}}, rows_[a].line);
    }
  }
  links.settle(host_, machine_.warnings, true);
}

// What the tree says must be what the table says, or the table contradicts itself.
void Reader::compare() {
  for (size_t a = 0; a < rows_.size(); a++) {
    for (size_t b = a + 1; b < rows_.size(); b++) {
      const PathKind told = rows_[a].cells[b].kind;
      if (told == PathKind::kNvlink) continue;
      const PathKind built = tree_path(host_, objects_[a], objects_[b]).kind;
      if (built == told) continue;
      machine_.warnings.push_back(
          {device(a), rows_[a].line,
           fmt::format("reaches {} by {}, but by the rest of the table {}", device(b), name_of(told), name_of(built))});
    }
  }
}

void Reader::read(std::string_view text) {
  int line = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const Words words = words_of(text.substr(begin, end - begin));
    begin = end + 1;
    line++;
    if (words.empty()) continue;
    if (columns_.empty()) {
      if (words[0] == "GPU0") read_header(words, line);
    } else if (rows_.size() < columns_.size()) {
      read_row(words, line);
    } else if (words.size() == 2 && words[0].ends_with(':')) {
      nic_names_[words[0].substr(0, words[0].size() - 1)] = words[1];
    }
  }
  if (columns_.empty()) fail(1, "expected a line that begins with GPU0, found none");
  if (rows_.size() < columns_.size()) {
    fail(line, fmt::format("expected the row of {}, found the end", columns_[rows_.size()]));
  }
  check_symmetry();
  build();
  compare();
  machine_.hosts.push_back(std::move(host_));
}

}  // namespace

Machine parse_nvidia_smi(std::string_view text, std::string_view name) {
  Machine machine;
  machine.source = fmt::format("file {} (nvidia-smi topo -m)", name);
  Reader(machine, name).read(text);
  return machine;
}

}  // namespace peal
