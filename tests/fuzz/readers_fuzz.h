// What every reader of machines must keep, whatever it is given: it throws nothing but Error, and what it makes can be
// searched, written and read again.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/error.h"
#include "topology/path.h"
#include "topology/places.h"
#include "topology/read.h"
#include "topology/rings.h"

namespace peal {

// Names that are no UTF-8 come back as something else.
inline Machine without_names(Machine machine) {
  machine.source.clear();
  for (Host& host : machine.hosts) {
    host.name.clear();
    for (Object& object : host.objects) {
      for (std::string* text : {&object.name, &object.pci, &object.nic.link_layer, &object.nic.guid, &object.nic.gid}) {
        text->clear();
      }
    }
  }
  for (Measurement& measurement : machine.measurements) measurement.transport.clear();
  return machine;
}

inline bool same(const Machine& a, const Machine& b) {
  return a.hosts == b.hosts && a.network == b.network && a.processor == b.processor &&
         a.measurements == b.measurements && a.source == b.source;
}

inline int check_reader(Machine (*parse)(std::string_view, std::string_view), const uint8_t* data, size_t size) {
  Machine machine;
  try {
    machine = parse(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz");
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kInvalidArgument) std::abort();
    return 0;
  }
  if (machine.hosts.empty()) std::abort();
  if (machine.hosts.size() > 64) return 0;
  const Host& host = machine.hosts[0];
  const size_t gpus = objects_of(host, ObjectKind::kGpu).size();
  const size_t cores = objects_of(host, ObjectKind::kCore).size();
  if (cores > 0) place_on(host, "fuzz", share_of_cpus(host, 0, static_cast<int>(cores)));
  if (gpus <= 16) {
    find_rings(host);
    find_trees(host);
    nearest_nics(host);
  }
  const Machine again = parse_json(to_json(machine), "again");
  if (!same(without_names(again), without_names(machine)) || !again.warnings.empty()) std::abort();
  if (!same(parse_json(to_json(again), "again"), again)) std::abort();
  return 0;
}

}  // namespace peal
