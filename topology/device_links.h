// What a file says of NVLinks and their like, and what of it can be true.
#pragma once

#include <vector>

#include "topology/machine.h"

namespace peal {

// More links than any GPU has (18 on H100 and B200) are no links of its own.
inline constexpr int kMostLinksOfADevice = 36;

class DeviceLinks {
 public:
  // As one end tells it: `capacity` towards the other end. Objects are indices in the host.
  void add(LinkKind kind, int from, int to, Capacity capacity, int line);

  // Adds to the host one Link for each pair that is told of. With a warning that names the object and the line: a link
  // of an object to itself is left out, and of two ends that differ the smaller one counts. What only one end tells is
  // taken as it is. Where devices tell of more links than they can have, equally many to each other device, all share
  // an NVSwitch, which is added: nvidia-smi shows a switch so, and then that is no warning (`switches_show_as_meshes`).
  // Otherwise all links of such a device are left out.
  void settle(Host& host, std::vector<Warning>& warnings, bool switches_show_as_meshes = false);

 private:
  struct Told {
    LinkKind kind;
    int from, to;
    Capacity capacity;
    int line;
  };
  void drop_self_links(const Host& host, std::vector<Warning>& warnings);
  bool is_even_mesh() const;
  void turn_into_switch(Host& host);
  void drop_impossible(const Host& host, const std::vector<int>& devices, std::vector<Warning>& warnings);
  void join_ends(Host& host, std::vector<Warning>& warnings) const;

  std::vector<Told> told_;
};

}  // namespace peal
