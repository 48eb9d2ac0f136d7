// The C API: each function turns its arguments into C++ ones, and exceptions into codes.
#include <algorithm>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/version.h"
#include "collectives/communicator.h"
#include "collectives/peal.h"

struct peal_comm {
  std::unique_ptr<peal::Communicator> communicator;
  std::vector<peal::SymmetricMemory> allocated;
};

struct peal_work {
  peal::Work work;
};

namespace {

using peal::DataType;
using peal::ReduceOp;
using peal::Work;

thread_local std::string last_error;

peal_result_t failed(peal_result_t code, const char* what) {
  last_error = what;
  return code;
}

template <class Body>
peal_result_t guarded(Body body) {
  try {
    body();
    return PEAL_OK;
  } catch (const peal::Error& error) {
    return failed(static_cast<peal_result_t>(error.code()), error.what());
  } catch (const std::bad_alloc&) {
    return failed(PEAL_SYSTEM_ERROR, "out of memory");
  } catch (const std::exception& error) {
    return failed(PEAL_INTERNAL_ERROR, error.what());
  }
}

// Starts what `start` returns a Work for, and waits for it or hands it out.
template <class Start>
peal_result_t run(peal_comm_t comm, peal_work_t* work, Start start) {
  if (comm == nullptr) return failed(PEAL_INVALID_ARGUMENT, "the communicator is NULL");
  return guarded([&] {
    Work started = start(*comm->communicator);
    if (work == nullptr) {
      started.wait();
    } else {
      *work = new peal_work{std::move(started)};
    }
  });
}

template <class Call>
peal_result_t with(peal_comm_t comm, Call call) {
  if (comm == nullptr) return failed(PEAL_INVALID_ARGUMENT, "the communicator is NULL");
  return guarded([&] { call(*comm->communicator); });
}

DataType type_of(peal_data_type_t type) {
  if (static_cast<unsigned>(type) >= static_cast<unsigned>(peal::kDataTypes)) {
    throw peal::Error(
        peal::ErrorCode::kInvalidArgument,
        "data type " + std::to_string(type) + " is unknown; valid: 0 to " + std::to_string(peal::kDataTypes - 1));
  }
  return static_cast<DataType>(type);
}

peal::Reduction reduction_of(peal_op_t op) {
  if (static_cast<unsigned>(op) > PEAL_AVG) {
    throw peal::Error(peal::ErrorCode::kInvalidArgument,
                      "reduction " + std::to_string(op) + " is unknown; valid: 0 to " + std::to_string(PEAL_AVG));
  }
  return peal::Reduction(static_cast<ReduceOp>(op));
}

// One entry per rank, or none for NULL.
std::span<const size_t> list(const size_t* entries, const peal::Communicator& communicator) {
  return entries == nullptr ? std::span<const size_t>()
                            : std::span<const size_t>(entries, static_cast<size_t>(communicator.size()));
}

}  // namespace

const char* peal_error_string(peal_result_t result) {
  static constexpr const char* kNames[] = {"ok",      "invalid argument", "system error",
                                           "timeout", "peer failed",      "mismatch",
                                           "aborted", "unsupported",      "internal error"};
  return static_cast<unsigned>(result) < std::size(kNames) ? kNames[result] : "unknown error";
}

const char* peal_last_error(void) { return last_error.c_str(); }
const char* peal_version(void) { return peal::version().data(); }

peal_result_t peal_comm_init(peal_comm_t* comm) { return peal_comm_init_rank(comm, -1, -1, nullptr, nullptr); }

peal_result_t peal_comm_init_rank(peal_comm_t* comm, int rank, int size, const char* root, const char* key) {
  if (comm == nullptr) return failed(PEAL_INVALID_ARGUMENT, "the pointer to the communicator is NULL");
  *comm = nullptr;
  return guarded([&] {
    peal::CommunicatorOptions options;
    options.rank = rank;
    options.size = size;
    if (root != nullptr) options.root = root;
    if (key != nullptr) options.key = key;
    *comm = new peal_comm{std::make_unique<peal::Communicator>(options), {}};
  });
}

peal_result_t peal_comm_split(peal_comm_t comm, int color, int key, peal_comm_t* child) {
  if (child == nullptr) return failed(PEAL_INVALID_ARGUMENT, "the pointer to the child is NULL");
  *child = nullptr;
  return with(comm, [&](peal::Communicator& communicator) {
    auto made = communicator.split(color, key);
    if (made) *child = new peal_comm{std::move(made), {}};
  });
}

peal_result_t peal_comm_destroy(peal_comm_t comm) {
  return guarded([&] {
    if (comm != nullptr) comm->allocated.clear();
    delete comm;
  });
}

peal_result_t peal_comm_rank(peal_comm_t comm, int* rank) {
  return with(comm, [&](peal::Communicator& communicator) { *rank = communicator.rank(); });
}

peal_result_t peal_comm_size(peal_comm_t comm, int* size) {
  return with(comm, [&](peal::Communicator& communicator) { *size = communicator.size(); });
}

peal_result_t peal_comm_abort(peal_comm_t comm, const char* reason) {
  return with(comm, [&](peal::Communicator& communicator) { communicator.abort(reason ? reason : "no reason given"); });
}

peal_result_t peal_all_reduce(const void* send, void* recv, size_t count, peal_data_type_t type, peal_op_t op,
                              peal_comm_t comm, peal_work_t* work) {
  return run(comm, work, [&](peal::Communicator& communicator) {
    return communicator.all_reduce_async(send, recv, count, type_of(type), reduction_of(op));
  });
}

peal_result_t peal_reduce_scatter(const void* send, void* recv, size_t count, peal_data_type_t type, peal_op_t op,
                                  peal_comm_t comm, peal_work_t* work) {
  return run(comm, work, [&](peal::Communicator& communicator) {
    return communicator.reduce_scatter_async(send, recv, count, type_of(type), reduction_of(op));
  });
}

peal_result_t peal_all_gather(const void* send, void* recv, size_t count, peal_data_type_t type, peal_comm_t comm,
                              peal_work_t* work) {
  return run(comm, work, [&](peal::Communicator& communicator) {
    return communicator.all_gather_async(send, recv, count, type_of(type));
  });
}

peal_result_t peal_broadcast(const void* send, void* recv, size_t count, peal_data_type_t type, int root,
                             peal_comm_t comm, peal_work_t* work) {
  return run(comm, work, [&](peal::Communicator& communicator) {
    return communicator.broadcast_async(send, recv, count, type_of(type), root);
  });
}

peal_result_t peal_reduce(const void* send, void* recv, size_t count, peal_data_type_t type, peal_op_t op, int root,
                          peal_comm_t comm, peal_work_t* work) {
  return run(comm, work, [&](peal::Communicator& communicator) {
    return communicator.reduce_async(send, recv, count, type_of(type), reduction_of(op), root);
  });
}

peal_result_t peal_gather(const void* send, void* recv, size_t count, peal_data_type_t type, int root, peal_comm_t comm,
                          peal_work_t* work) {
  return run(comm, work, [&](peal::Communicator& communicator) {
    return communicator.gather_async(send, recv, count, type_of(type), root);
  });
}

peal_result_t peal_scatter(const void* send, void* recv, size_t count, peal_data_type_t type, int root,
                           peal_comm_t comm, peal_work_t* work) {
  return run(comm, work, [&](peal::Communicator& communicator) {
    return communicator.scatter_async(send, recv, count, type_of(type), root);
  });
}

peal_result_t peal_all_to_all(const void* send, void* recv, size_t count, peal_data_type_t type, peal_comm_t comm,
                              peal_work_t* work) {
  return run(comm, work, [&](peal::Communicator& communicator) {
    return communicator.all_to_all_async(send, recv, count, type_of(type));
  });
}

peal_result_t peal_barrier(peal_comm_t comm, peal_work_t* work) {
  return run(comm, work, [](peal::Communicator& communicator) { return communicator.barrier_async(); });
}

peal_result_t peal_all_gather_v(const void* send, size_t send_count, void* recv, const size_t* recv_counts,
                                const size_t* recv_displacements, peal_data_type_t type, peal_comm_t comm) {
  return with(comm, [&](peal::Communicator& c) {
    c.all_gather_v(send, send_count, recv, list(recv_counts, c), list(recv_displacements, c), type_of(type));
  });
}

peal_result_t peal_reduce_scatter_v(const void* send, const size_t* send_counts, const size_t* send_displacements,
                                    void* recv, size_t recv_count, peal_data_type_t type, peal_op_t op,
                                    peal_comm_t comm) {
  return with(comm, [&](peal::Communicator& c) {
    c.reduce_scatter_v(send, list(send_counts, c), list(send_displacements, c), recv, recv_count, type_of(type),
                       reduction_of(op));
  });
}

peal_result_t peal_gather_v(const void* send, size_t send_count, void* recv, const size_t* recv_counts,
                            const size_t* recv_displacements, peal_data_type_t type, int root, peal_comm_t comm) {
  return with(comm, [&](peal::Communicator& c) {
    c.gather_v(send, send_count, recv, list(recv_counts, c), list(recv_displacements, c), type_of(type), root);
  });
}

peal_result_t peal_scatter_v(const void* send, const size_t* send_counts, const size_t* send_displacements, void* recv,
                             size_t recv_count, peal_data_type_t type, int root, peal_comm_t comm) {
  return with(comm, [&](peal::Communicator& c) {
    c.scatter_v(send, list(send_counts, c), list(send_displacements, c), recv, recv_count, type_of(type), root);
  });
}

peal_result_t peal_all_to_all_v(const void* send, const size_t* send_counts, const size_t* send_displacements,
                                void* recv, const size_t* recv_counts, const size_t* recv_displacements,
                                peal_data_type_t type, peal_comm_t comm) {
  return with(comm, [&](peal::Communicator& c) {
    c.all_to_all_v(send, list(send_counts, c), list(send_displacements, c), recv, list(recv_counts, c),
                   list(recv_displacements, c), type_of(type));
  });
}

peal_result_t peal_send(const void* data, size_t count, peal_data_type_t type, int peer, peal_comm_t comm,
                        peal_work_t* work) {
  return run(comm, work, [&](peal::Communicator& communicator) {
    return communicator.send_async(data, count, type_of(type), peer);
  });
}

peal_result_t peal_recv(void* data, size_t count, peal_data_type_t type, int peer, peal_comm_t comm,
                        peal_work_t* work) {
  return run(comm, work, [&](peal::Communicator& communicator) {
    return communicator.recv_async(data, count, type_of(type), peer);
  });
}

peal_result_t peal_group_begin(peal_comm_t comm) {
  return with(comm, [](peal::Communicator& communicator) { communicator.group_begin(); });
}

peal_result_t peal_group_end(peal_comm_t comm, peal_work_t* work) {
  return run(comm, work, [](peal::Communicator& communicator) { return communicator.group_end(); });
}

peal_result_t peal_wait(peal_work_t work) {
  if (work == nullptr) return PEAL_OK;
  const std::unique_ptr<peal_work> owned(work);
  return guarded([&] { owned->work.wait(); });
}

peal_result_t peal_test(peal_work_t work, int* done) {
  if (work == nullptr || done == nullptr) return failed(PEAL_INVALID_ARGUMENT, "work or done is NULL");
  return guarded([&] { *done = work->work.done() ? 1 : 0; });
}

peal_result_t peal_allocate(peal_comm_t comm, size_t bytes, void** memory) {
  if (comm == nullptr || memory == nullptr) return failed(PEAL_INVALID_ARGUMENT, "the communicator or memory is NULL");
  return guarded([&] {
    comm->allocated.push_back(comm->communicator->allocate(bytes));
    *memory = comm->allocated.back().data();
  });
}

peal_result_t peal_free(peal_comm_t comm, void* memory) {
  if (comm == nullptr) return failed(PEAL_INVALID_ARGUMENT, "the communicator is NULL");
  if (memory == nullptr) return PEAL_OK;
  const auto owned = std::find_if(comm->allocated.begin(), comm->allocated.end(),
                                  [&](const peal::SymmetricMemory& each) { return each.data() == memory; });
  if (owned == comm->allocated.end()) {
    return failed(PEAL_INVALID_ARGUMENT, "peal_free: not from peal_allocate on this communicator");
  }
  return guarded([&] {
    owned->free();
    comm->allocated.erase(owned);
  });
}
