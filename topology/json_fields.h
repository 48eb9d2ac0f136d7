// Peal's own format, said once for reading and writing: which member of the model has which name. A member that has its
// default is left out, so that a file holds what is known.
#pragma once

#include <type_traits>

#include "topology/machine.h"

namespace peal::topology_json {

inline constexpr int kVersion = 1;

// fields_of(std::type_identity<T>{}, visit) calls visit(name, &T::member) for each member, in the order in which they
// are written.
template <class Visit>
void fields_of(std::type_identity<Capacity>, Visit&& visit) {
  visit("count", &Capacity::count);
  visit("bytes_per_ns", &Capacity::bandwidth);
  visit("latency_ns", &Capacity::latency);
}

template <class Visit>
void fields_of(std::type_identity<Processor>, Visit&& visit) {
  visit("copy_bytes_per_ns", &Processor::copy);
  visit("reduce_bytes_per_ns", &Processor::reduce);
  visit("step_ns", &Processor::step);
  visit("mapped_latency_ns", &Processor::mapped_latency);
}

template <class Visit>
void fields_of(std::type_identity<Measurement>, Visit&& visit) {
  visit("transport", &Measurement::transport);
  visit("from_host", &Measurement::from_host);
  visit("from", &Measurement::from);
  visit("to_host", &Measurement::to_host);
  visit("to", &Measurement::to);
  visit("latency_ns", &Measurement::latency_ns);
  visit("bytes_per_ns", &Measurement::bytes_per_ns);
}

template <class Visit>
void fields_of(std::type_identity<GpuFacts>, Visit&& visit) {
  visit("compute_capability", &GpuFacts::compute_capability);
  visit("memory_bytes", &GpuFacts::memory_bytes);
  visit("direct", &GpuFacts::direct);
}

template <class Visit>
void fields_of(std::type_identity<NicFacts>, Visit&& visit) {
  visit("role", &NicFacts::role);
  visit("port", &NicFacts::port);
  visit("link_layer", &NicFacts::link_layer);
  visit("guid", &NicFacts::guid);
  visit("gid", &NicFacts::gid);
  visit("active", &NicFacts::active);
  visit("rdma", &NicFacts::rdma);
  visit("direct", &NicFacts::direct);
}

// `cpus` is a list of ranges as the kernel writes it: "0-3,8".
template <class Visit>
void fields_of(std::type_identity<Object>, Visit&& visit) {
  visit("kind", &Object::kind);
  visit("parent", &Object::parent);
  visit("number", &Object::number);
  visit("name", &Object::name);
  visit("line", &Object::line);
  visit("cpus", &Object::cpus);
  visit("bytes", &Object::bytes);
  visit("cache_level", &Object::cache_level);
  visit("memory", &Object::memory);
  visit("pci", &Object::pci);
  visit("up", &Object::up);
  visit("wire", &Object::wire);
  visit("gpu", &Object::gpu);
  visit("nic", &Object::nic);
}

template <class Visit>
void fields_of(std::type_identity<Link>, Visit&& visit) {
  visit("kind", &Link::kind);
  visit("a", &Link::a);
  visit("b", &Link::b);
  visit("capacity", &Link::capacity);
  visit("line", &Link::line);
}

template <class T>
concept HasFields = requires {
  fields_of(std::type_identity<T>{}, [](const char*, auto) {});
};

}  // namespace peal::topology_json
