// The file that PEAL_CONF_FILE names: NAME=value lines, blank lines, and comment lines that begin with #.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace peal {

struct ConfLine {
  std::string name;   // as written, without the blanks around it
  std::string value;  // likewise; may be empty
  int line;           // from 1
};

// The lines that set something, in order. Throws Error(kInvalidArgument) naming `path` and line for any other text.
std::vector<ConfLine> parse_conf(std::istream& text, const std::string& path);

// The same of a file; one that can't be read is an Error(kInvalidArgument) too, with the reason.
std::vector<ConfLine> read_conf_file(const std::string& path);

}  // namespace peal
