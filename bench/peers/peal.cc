// Peal as a contestant (turns.h), and the floor: what each rank's part of an all-reduce would cost if all bytes that
// it must read and write were its own.
#include "base/reduce.h"
#include "collectives/communicator.h"
#include "turns.h"

namespace {

class Peal final : public turns::Contestant {
 public:
  Peal() {
    rank = communicator_.rank();
    ranks = communicator_.size();
  }

  void barrier() override { communicator_.barrier(); }

  bool run(const turns::Turn& turn, std::byte* send, std::byte* recv) override {
    const size_t count = turn.count(ranks);
    const peal::DataType type = turn.type == "bfloat16" ? peal::DataType::kBfloat16 : peal::DataType::kFloat32;
    const std::string& what = turn.collective;
    if (what == "all_reduce") {
      communicator_.all_reduce(send, recv, count, type);
    } else if (what == "reduce_scatter") {
      communicator_.reduce_scatter(send, recv, count, type);
    } else if (what == "all_gather") {
      communicator_.all_gather(send, recv, count, type);
    } else if (what == "broadcast") {
      communicator_.broadcast(rank == 0 ? send : nullptr, rank == 0 && turn.in_place ? send : recv, count, type, 0);
    } else if (what == "reduce") {
      communicator_.reduce(send, recv, count, type, {}, 0);
    } else if (what == "all_to_all") {
      communicator_.all_to_all(send, recv, count, type);
    } else if (what == "gather") {
      communicator_.gather(send, recv, count, type, 0);
    } else if (what == "scatter") {
      communicator_.scatter(send, recv, count, type, 0);
    } else if (what == "ping_pong") {
      ping_pong(send, recv, count, type);
    } else if (what == "floor") {
      floor(turn, send, type);
    } else {
      return false;
    }
    return true;
  }

  int warm_up(const turns::Turn& turn) override {
    if (turn.collective == "floor" || turn.collective == "ping_pong") return 2;
    return 2 + communicator_.calls_to_settle(turn.collective, turn.bytes, turn.symmetric);
  }

  std::byte* allocate(size_t bytes, bool symmetric) override {
    if (!symmetric) return Contestant::allocate(bytes, false);
    symmetric_.push_back(communicator_.allocate(bytes));
    return static_cast<std::byte*>(symmetric_.back().data());
  }
  void release(std::byte* memory) override {
    const auto here = [&](const peal::SymmetricMemory& each) { return each.data() == memory; };
    if (std::erase_if(symmetric_, here) == 0) Contestant::release(memory);
  }

 private:
  void ping_pong(std::byte* send, std::byte* recv, size_t count, peal::DataType type) {
    if (rank == 0) {
      communicator_.send(send, count, type, 1);
      communicator_.recv(recv, count, type, 1);
    } else if (rank == 1) {
      communicator_.recv(recv, count, type, 0);
      communicator_.send(send, count, type, 0);
    }
  }

  void floor(const turns::Turn& turn, std::byte* data, peal::DataType type) {
    const size_t slice = turn.bytes / static_cast<size_t>(ranks) / 64 * 64;
    constexpr size_t kBlock = 16 << 10;
    std::vector<const void*>& sources = sources_;
    sources.resize(static_cast<size_t>(ranks));
    for (size_t at = 0; at < slice; at += kBlock) {
      const size_t bytes = std::min(kBlock, slice - at);
      for (size_t r = 0; r < sources.size(); r++) sources[r] = data + r * slice + at;
      peal::reduce(type, peal::ReduceOp::kSum, data + at, sources, bytes / turn.element());
      for (size_t r = 1; r < sources.size(); r++) std::memcpy(data + r * slice + at, data + at, bytes);
    }
  }

  peal::Communicator communicator_;
  std::vector<peal::SymmetricMemory> symmetric_;
  std::vector<const void*> sources_;
};

}  // namespace

int main(int, char** argv) {
  try {
    Peal peal;
    turns::serve(peal, argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "peal: %s\n", error.what());
    return 1;
  }
}
