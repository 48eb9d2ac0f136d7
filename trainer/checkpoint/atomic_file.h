// A file that is either the old one or the new one, whole, whatever happens while it is written.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace peal::trainer {

// Writes `pieces` one after another to a temporary file beside `path`, syncs it, renames it over `path` and syncs the
// folder. Throws Error(kSystem) naming file and cause; then `path` is untouched and the temporary file is gone (a
// process killed half-way leaves the temporary, which the next write to the same path replaces). One writer at a time
// for each path.
void write_file_atomically(const std::string& path, std::span<const std::span<const std::byte>> pieces);

}  // namespace peal::trainer
