// Open MPI and MPICH as contestants (turns.h): the same source, built by each one's compiler wrapper.
#include <mpi.h>

#include "turns.h"

namespace {

class Mpi final : public turns::Contestant {
 public:
  Mpi() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    // There is no bfloat16 in MPI 3: no contestant for it.
  }

  void barrier() override { MPI_Barrier(MPI_COMM_WORLD); }

  bool run(const turns::Turn& turn, std::byte* send, std::byte* recv) override {
    if (turn.type != "float") return false;
    const int count = static_cast<int>(turn.count(ranks));
    const bool in = turn.in_place, at_root = rank == 0;
    const std::string& what = turn.collective;
    if (what == "all_reduce") {
      MPI_Allreduce(in ? MPI_IN_PLACE : send, recv, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    } else if (what == "reduce_scatter") {
      // In place MPI leaves the result at the buffer's beginning.
      MPI_Reduce_scatter_block(in ? MPI_IN_PLACE : send, in ? send : recv, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    } else if (what == "all_gather") {
      std::byte* all = in ? send - static_cast<size_t>(rank) * static_cast<size_t>(count) * sizeof(float) : recv;
      MPI_Allgather(in ? MPI_IN_PLACE : send, count, MPI_FLOAT, all, count, MPI_FLOAT, MPI_COMM_WORLD);
    } else if (what == "broadcast") {
      MPI_Bcast(at_root ? send : recv, count, MPI_FLOAT, 0, MPI_COMM_WORLD);
    } else if (what == "reduce") {
      MPI_Reduce(in && at_root ? MPI_IN_PLACE : send, recv, count, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD);
    } else if (what == "all_to_all") {
      MPI_Alltoall(in ? MPI_IN_PLACE : send, count, MPI_FLOAT, recv, count, MPI_FLOAT, MPI_COMM_WORLD);
    } else if (what == "gather") {
      MPI_Gather(in && at_root ? MPI_IN_PLACE : send, count, MPI_FLOAT, recv, count, MPI_FLOAT, 0, MPI_COMM_WORLD);
    } else if (what == "scatter") {
      MPI_Scatter(send, count, MPI_FLOAT, in && at_root ? MPI_IN_PLACE : recv, count, MPI_FLOAT, 0, MPI_COMM_WORLD);
    } else if (what == "ping_pong") {
      ping_pong(send, recv, count);
    } else {
      return false;
    }
    return true;
  }

 private:
  void ping_pong(std::byte* send, std::byte* recv, int count) {
    if (rank == 0) {
      MPI_Send(send, count, MPI_FLOAT, 1, 0, MPI_COMM_WORLD);
      MPI_Recv(recv, count, MPI_FLOAT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
      MPI_Recv(recv, count, MPI_FLOAT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(send, count, MPI_FLOAT, 0, 0, MPI_COMM_WORLD);
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  {
    Mpi mpi;
    turns::serve(mpi, argv[1]);
  }
  MPI_Finalize();
}
