// Gloo over TCP, its only CPU transport, as a contestant (turns.h). RANK and SIZE come from the environment.
#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/gather.h>
#include <gloo/math.h>
#include <gloo/reduce.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/scatter.h>
#include <gloo/transport/tcp/device.h>

#include "turns.h"

namespace {

class Gloo final : public turns::Contestant {
 public:
  explicit Gloo(const std::string& folder) {
    rank = std::atoi(std::getenv("RANK"));
    ranks = std::atoi(std::getenv("SIZE"));
    gloo::transport::tcp::attr attributes;
    attributes.iface = "lo";
    auto context = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
    gloo::rendezvous::FileStore store(folder);
    std::shared_ptr<gloo::transport::Device> device = gloo::transport::tcp::CreateDevice(attributes);
    context->connectFullMesh(store, device);
    context_ = context;
  }

  void barrier() override {
    gloo::BarrierOptions options(context_);
    gloo::barrier(options);
  }

  bool run(const turns::Turn& turn, std::byte* send, std::byte* recv) override {
    if (turn.type != "float") return false;
    const size_t count = turn.count(ranks);
    auto *from = reinterpret_cast<float*>(send), *to = reinterpret_cast<float*>(recv);
    if (turn.collective == "all_reduce") {
      gloo::AllreduceOptions options(context_);
      options.setInput(from, count);
      options.setOutput(to, count);
      options.setReduceFunction(sum());
      gloo::allreduce(options);
    } else if (turn.collective == "all_gather") {
      gloo::AllgatherOptions options(context_);
      options.setInput(from, count);
      options.setOutput(turn.in_place ? from - static_cast<size_t>(rank) * count : to,
                        count * static_cast<size_t>(ranks));
      gloo::allgather(options);
    } else if (turn.collective == "broadcast") {
      gloo::BroadcastOptions options(context_);
      options.setOutput(rank == 0 ? from : to, count);
      options.setRoot(0);
      gloo::broadcast(options);
    } else if (turn.collective == "reduce") {
      gloo::ReduceOptions options(context_);
      options.setInput(from, count);
      options.setOutput(to, count);
      options.setRoot(0);
      options.setReduceFunction(sum());
      gloo::reduce(options);
    } else if (turn.collective == "all_to_all" && !turn.in_place) {
      gloo::AlltoallOptions options(context_);
      options.setInput(from, count * static_cast<size_t>(ranks));
      options.setOutput(to, count * static_cast<size_t>(ranks));
      gloo::alltoall(options);
    } else {
      return false;
    }
    return true;
  }

 private:
  static std::function<void(void*, const void*, const void*, size_t)> sum() {
    return static_cast<void (*)(void*, const void*, const void*, size_t)>(&gloo::sum<float>);
  }

  std::shared_ptr<gloo::Context> context_;
};

}  // namespace

int main(int, char** argv) {
  Gloo gloo(argv[2]);
  turns::serve(gloo, argv[1]);
}
