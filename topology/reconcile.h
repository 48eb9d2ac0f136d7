// A machine that a file describes against the one that is there.
#pragma once

#include <string>
#include <string_view>

#include "topology/machine.h"

namespace peal {

// The host of `machine` that `name` names, else its first: a file may describe a whole cluster.
PEAL_API int host_named(const Machine& machine, std::string_view name) noexcept;

// Takes out of the file's host `index` the GPUs and NICs that `here` (one host, discovered) does not have, with a
// warning for each; those that stay are numbered anew from 0. Devices are the same by PCI address, else by name, else
// (GPUs) by number. Warns too where the file knows none of the processors of `here`: then ranks have no place in it.
PEAL_API void keep_what_is_here(Machine& file, int index, const Host& here);

}  // namespace peal
