#include "topology/hwloc_matrices.h"

#include <fmt/format.h>

#include <cstdlib>
#include <sstream>
#include <string>

#include "topology/device_links.h"

namespace peal {
namespace {

using xml::Element;

constexpr size_t kMostOfAMatrix = 4096;

std::vector<std::string> words_of(const Element& matrix, const char* name) {
  std::vector<std::string> words;
  xml::for_each_child(matrix, name, [&](const Element& part) {
    std::istringstream text(part.GetText() == nullptr ? "" : part.GetText());
    for (std::string word; words.size() < kMostOfAMatrix && text >> word;) words.push_back(word);
  });
  return words;
}

std::vector<double> values_of(const Element& matrix) {
  std::vector<double> values;
  for (const std::string& word : words_of(matrix, "u64values")) values.push_back(std::strtod(word.c_str(), nullptr));
  return values;
}

bool all_equal_but_diagonal(const std::vector<double>& values, size_t n) {
  for (size_t i = 0; i < values.size(); i++) {
    if (i / n != i % n && values[i] != values[1]) return false;
  }
  return true;
}

// NVLink and xGMI bandwidths in MB/s, between GPUs, and on POWER between GPUs and packages.
void read_matrix(const Element& matrix, const std::map<int64_t, int>& by_gp_index, Host& host,
                 std::vector<Warning>& warnings) {
  const auto warn = [&](const std::string& text) {
    warnings.push_back({"matrix " + xml::text_of(matrix, "name"), matrix.GetLineNum(), text});
  };
  const std::string name = xml::text_of(matrix, "name");
  const bool nvlink = name == "NVLinkBandwidth";
  if (!nvlink && name != "XGMIBandwidth") return;
  const std::vector<std::string> words = words_of(matrix, "indexes");
  const std::vector<double> values = values_of(matrix);
  const size_t n = words.size();
  if (n < 2 || values.size() != n * n) {
    return warn(fmt::format("has {} objects and {} values: left out", n, values.size()));
  }
  if (!nvlink && n > 2 && all_equal_but_diagonal(values, n)) {
    return warn("is the same between all GPUs, which says nothing: left out");
  }
  std::vector<int> objects;
  for (const std::string& word : words) {
    const size_t colon = word.find(':');
    const auto found = by_gp_index.find(std::strtoll(word.c_str() + (colon == word.npos ? 0 : colon + 1), nullptr, 10));
    objects.push_back(found == by_gp_index.end() ? -1 : found->second);
    if (objects.back() < 0) warn(fmt::format("names {}, which is not there", word.substr(0, 40)));
  }
  DeviceLinks links;
  for (size_t i = 0; i < n * n; i++) {
    const int from = objects[i / n], to = objects[i % n];
    if (i / n == i % n || from < 0 || to < 0 || !(values[i] > 0) || values[i] > 1e8) continue;
    links.add(nvlink ? LinkKind::kNvlink : LinkKind::kXgmi, from, to, {0, {values[i] / 1000, Source::kRead}, {}},
              matrix.GetLineNum());
  }
  links.settle(host, warnings);
}

}  // namespace

void read_link_matrices(const Element& topology, const std::map<int64_t, int>& by_gp_index, Host& host,
                        std::vector<Warning>& warnings) {
  for (const char* name : {"distances2", "distances2hetero"}) {
    xml::for_each_child(topology, name,
                        [&](const Element& matrix) { read_matrix(matrix, by_gp_index, host, warnings); });
  }
}

}  // namespace peal
