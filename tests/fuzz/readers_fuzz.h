// What every reader of machines must keep, whatever it is given: it throws nothing but Error, and what it makes can be
// searched, written and read again.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "topology/path.h"
#include "topology/places.h"
#include "topology/read.h"
#include "topology/rings.h"

namespace peal {

inline int check_reader(Machine (*parse)(std::string_view, std::string_view), const uint8_t* data, size_t size) {
  Machine machine;
  try {
    machine = parse(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz");
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kInvalidArgument) std::abort();
    return 0;
  }
  if (machine.hosts.empty() || machine.hosts.size() > 64) return 0;
  const Host& host = machine.hosts[0];
  const size_t gpus = objects_of(host, ObjectKind::kGpu).size();
  const size_t cores = objects_of(host, ObjectKind::kCore).size();
  if (cores > 0) place_on(host, "fuzz", share_of_cpus(host, 0, static_cast<int>(cores)));
  if (gpus <= 16) {
    find_rings(host);
    find_trees(host);
    nearest_nics(host);
  }
  // Names that are no UTF-8 come back as something else.
  Machine again = parse_json(to_json(machine), "again");
  if (again.hosts.size() != machine.hosts.size() || again.hosts[0].links.size() != host.links.size()) std::abort();
  for (size_t i = 0; i < host.objects.size(); i++) {
    const Object &one = again.hosts[0].objects[i], &other = host.objects[i];
    if (one.kind != other.kind || one.parent != other.parent || one.cpus != other.cpus) std::abort();
  }
  return 0;
}

}  // namespace peal
