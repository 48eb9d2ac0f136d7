// Where a Machine comes from. Whatever can be read but can't be true ends up in Machine::warnings, with the object and
// the line; what can't be read is one Error(kInvalidArgument) naming the file, the line, what was expected and found.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "topology/machine.h"

namespace peal {

// Files larger than this are refused before they are read.
inline constexpr size_t kLargestMachineFile = size_t{64} << 20;

// Cut to this process's affinity and cgroup, or to the cgroup alone: then equal on all ranks of the host, which may be
// pinned apart; and then without what CUDA says of GPUs, which would have to be initialised for it.
enum class Cut { kAffinity, kCgroup };

// This machine, cut to what this process may use; GPUs and RDMA devices where their libraries are. Never fails: what
// can't be read is left out, at worst it is a flat list of processors.
PEAL_API Machine discover_machine(Cut cut = Cut::kAffinity);

// discover_machine(Cut::kCgroup), looked up once in the life of the process: it takes 10 ms. From any thread.
PEAL_API const Machine& this_machine();

// A file of any format below, told apart by its contents.
PEAL_API Machine read_machine(const std::string& path);

// Text of any format; `name` is for messages and Machine::source.
PEAL_API Machine parse_machine(std::string_view text, std::string_view name);

// The formats, each for itself. All throw as above.
PEAL_API Machine parse_json(std::string_view text, std::string_view name);        // Peal's own: write_json.cc
PEAL_API Machine parse_hwloc_xml(std::string_view text, std::string_view name);   // versions 1.x and 2.x
PEAL_API Machine parse_nccl_xml(std::string_view text, std::string_view name);    // <system> of NCCL and RCCL
PEAL_API Machine parse_nvidia_smi(std::string_view text, std::string_view name);  // the table of `nvidia-smi topo -m`
// One line, e.g. "host:2 package:2 numa:1 core:16 gpu:4 nic:2": synthetic.cc documents it.
PEAL_API Machine parse_synthetic(std::string_view text, std::string_view name);

// The machine that PEAL_TOPO_FILE names if it is set, else this one: cut to the affinity, or as this_machine() has it.
// Never fails: an unreadable file is a warning in the result, which is then this machine.
PEAL_API Machine machine_or_file(const std::string& file, Cut cut = Cut::kAffinity);

// Peal's own format; parse_json() of it gives an equal Machine. Warnings are not part of it.
PEAL_API std::string to_json(const Machine& machine);

}  // namespace peal
