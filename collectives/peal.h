/* Peal's C API: collectives between the ranks of a job. Names and values here are stable.
 *
 * Every function returns PEAL_OK or an error code; peal_last_error() then says in words what happened on this thread.
 * Counts are in elements. Buffers belong to the caller until the call returned or its work was waited for. One thread
 * at a time uses a communicator; different communicators are independent. In place: see each function. Calls must match
 * across ranks in kind, order and arguments.
 */
#ifndef PEAL_PEAL_H
#define PEAL_PEAL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PEAL_EXPORT __attribute__((visibility("default")))

typedef enum {
  PEAL_OK = 0,
  PEAL_INVALID_ARGUMENT = 1, /* a call, setting or file that can't be right */
  PEAL_SYSTEM_ERROR = 2,     /* the operating system refused */
  PEAL_TIMEOUT = 3,          /* a deadline passed */
  PEAL_PEER_FAILED = 4,      /* a peer died, left or broke the protocol */
  PEAL_MISMATCH = 5,         /* ranks called different things */
  PEAL_ABORTED = 6,          /* peal_comm_abort was called */
  PEAL_UNSUPPORTED = 7,      /* legal, but not possible in this build or on this machine */
  PEAL_INTERNAL_ERROR = 8    /* a bug in Peal */
} peal_result_t;

typedef enum {
  PEAL_INT8 = 0,
  PEAL_UINT8 = 1,
  PEAL_INT16 = 2,
  PEAL_UINT16 = 3,
  PEAL_INT32 = 4,
  PEAL_UINT32 = 5,
  PEAL_INT64 = 6,
  PEAL_UINT64 = 7,
  PEAL_FLOAT16 = 8,
  PEAL_BFLOAT16 = 9,
  PEAL_FLOAT32 = 10,
  PEAL_FLOAT64 = 11,
  PEAL_FLOAT8_E4M3 = 12,
  PEAL_FLOAT8_E5M2 = 13
} peal_data_type_t;

typedef enum {
  PEAL_SUM = 0,
  PEAL_PROD = 1,
  PEAL_MIN = 2,
  PEAL_MAX = 3,
  PEAL_AVG = 4 /* sum divided by the number of ranks; integers truncate toward zero */
} peal_op_t;

typedef struct peal_comm* peal_comm_t; /* owned by the caller: peal_comm_destroy */
typedef struct peal_work* peal_work_t; /* an operation under way; given back by peal_wait */

/* The meaning of a code, e.g. "peer failed". Never NULL. */
PEAL_EXPORT const char* peal_error_string(peal_result_t result);
/* What went wrong in this thread's last failing call, with ranks and arguments. Valid until its next call. Never NULL.
 */
PEAL_EXPORT const char* peal_last_error(void);
/* "0.1.0". */
PEAL_EXPORT const char* peal_version(void);

/* Joins the job that the environment describes: PEAL_RANK, PEAL_SIZE and PEAL_ROOT, or the variables of torchrun, Open
 * MPI, PMI, PMIx or Slurm; alone without any. Collective over all ranks of the job. */
PEAL_EXPORT peal_result_t peal_comm_init(peal_comm_t* comm);
/* The same with explicit answers: 0 <= rank < size; root "host:port", "[ipv6]:port" or "unix:NAME" is where rank 0
 * meets the others; key is the job's secret (NULL: PEAL_KEY, else derived from root). */
PEAL_EXPORT peal_result_t peal_comm_init_rank(peal_comm_t* comm, int rank, int size, const char* root, const char* key);
/* Collective. Ranks of equal color >= 0 form a new communicator ordered by (key, rank); a negative color gets *child
 * NULL. */
PEAL_EXPORT peal_result_t peal_comm_split(peal_comm_t comm, int color, int key, peal_comm_t* child);
PEAL_EXPORT peal_result_t peal_comm_destroy(peal_comm_t comm); /* NULL is legal */
PEAL_EXPORT peal_result_t peal_comm_rank(peal_comm_t comm, int* rank);
PEAL_EXPORT peal_result_t peal_comm_size(peal_comm_t comm, int* size);
/* From any thread: every wait of this communicator, now or later, returns PEAL_ABORTED. */
PEAL_EXPORT peal_result_t peal_comm_abort(peal_comm_t comm, const char* reason);

/* ---- Collectives. A NULL `work` blocks; otherwise *work is to be given to peal_wait. ---- */

/* recv[count] = reduction over ranks of send[count]. In place: send == recv. */
PEAL_EXPORT peal_result_t peal_all_reduce(const void* send, void* recv, size_t count, peal_data_type_t type,
                                          peal_op_t op, peal_comm_t comm, peal_work_t* work);
/* send[size * count]; recv[count] = this rank's block of the reduction. In place: recv == send + rank * count. */
PEAL_EXPORT peal_result_t peal_reduce_scatter(const void* send, void* recv, size_t count, peal_data_type_t type,
                                              peal_op_t op, peal_comm_t comm, peal_work_t* work);
/* send[count]; recv[size * count]. In place: send == recv + rank * count. */
PEAL_EXPORT peal_result_t peal_all_gather(const void* send, void* recv, size_t count, peal_data_type_t type,
                                          peal_comm_t comm, peal_work_t* work);
/* recv[count] on every rank = root's send[count]; send is read on the root alone. In place on the root: send == recv.
 */
PEAL_EXPORT peal_result_t peal_broadcast(const void* send, void* recv, size_t count, peal_data_type_t type, int root,
                                         peal_comm_t comm, peal_work_t* work);
/* root's recv[count] = reduction; recv is written on the root alone. In place on the root: send == recv. */
PEAL_EXPORT peal_result_t peal_reduce(const void* send, void* recv, size_t count, peal_data_type_t type, peal_op_t op,
                                      int root, peal_comm_t comm, peal_work_t* work);
/* root's recv[size * count]; elsewhere recv may be NULL. In place on the root: send == recv + rank * count. */
PEAL_EXPORT peal_result_t peal_gather(const void* send, void* recv, size_t count, peal_data_type_t type, int root,
                                      peal_comm_t comm, peal_work_t* work);
/* root's send[size * count]; elsewhere send may be NULL. In place on the root: recv == send + rank * count. */
PEAL_EXPORT peal_result_t peal_scatter(const void* send, void* recv, size_t count, peal_data_type_t type, int root,
                                       peal_comm_t comm, peal_work_t* work);
/* Block i of send[size * count] goes to rank i, block i of recv comes from rank i. In place: send == recv. */
PEAL_EXPORT peal_result_t peal_all_to_all(const void* send, void* recv, size_t count, peal_data_type_t type,
                                          peal_comm_t comm, peal_work_t* work);
PEAL_EXPORT peal_result_t peal_barrier(peal_comm_t comm, peal_work_t* work);

/* ---- v-variants, blocking: block i has counts[i] elements at displacements[i] elements from the buffer's start;
 * arrays of `size` entries. all_gather_v, reduce_scatter_v: equal on all ranks; gather_v, scatter_v: read on the root
 * alone. ---- */
PEAL_EXPORT peal_result_t peal_all_gather_v(const void* send, size_t send_count, void* recv, const size_t* recv_counts,
                                            const size_t* recv_displacements, peal_data_type_t type, peal_comm_t comm);
PEAL_EXPORT peal_result_t peal_reduce_scatter_v(const void* send, const size_t* send_counts,
                                                const size_t* send_displacements, void* recv, size_t recv_count,
                                                peal_data_type_t type, peal_op_t op, peal_comm_t comm);
PEAL_EXPORT peal_result_t peal_gather_v(const void* send, size_t send_count, void* recv, const size_t* recv_counts,
                                        const size_t* recv_displacements, peal_data_type_t type, int root,
                                        peal_comm_t comm);
PEAL_EXPORT peal_result_t peal_scatter_v(const void* send, const size_t* send_counts, const size_t* send_displacements,
                                         void* recv, size_t recv_count, peal_data_type_t type, int root,
                                         peal_comm_t comm);
PEAL_EXPORT peal_result_t peal_all_to_all_v(const void* send, const size_t* send_counts,
                                            const size_t* send_displacements, void* recv, const size_t* recv_counts,
                                            const size_t* recv_displacements, peal_data_type_t type, peal_comm_t comm);

/* ---- Point to point: the k-th send to a peer meets the peer's k-th receive from here; counts and types must agree.
 * ---- */
PEAL_EXPORT peal_result_t peal_send(const void* data, size_t count, peal_data_type_t type, int peer, peal_comm_t comm,
                                    peal_work_t* work);
PEAL_EXPORT peal_result_t peal_recv(void* data, size_t count, peal_data_type_t type, int peer, peal_comm_t comm,
                                    peal_work_t* work);

/* ---- Groups: what is called between the two (work NULL) does not block; peal_group_end's work stands for all of it.
 * ---- */
PEAL_EXPORT peal_result_t peal_group_begin(peal_comm_t comm);
PEAL_EXPORT peal_result_t peal_group_end(peal_comm_t comm, peal_work_t* work);

/* Waits until the work is done and gives it back, also when it failed. NULL is legal. */
PEAL_EXPORT peal_result_t peal_wait(peal_work_t work);
/* *done = 1 when peal_wait would not block. Makes progress. */
PEAL_EXPORT peal_result_t peal_test(peal_work_t work, int* done);

/* Collective: `bytes` (equal on all ranks) of zeroed memory that every rank of this host maps; collectives in place on
 * it copy nothing. peal_free before peal_comm_destroy. */
PEAL_EXPORT peal_result_t peal_allocate(peal_comm_t comm, size_t bytes, void** memory);
PEAL_EXPORT peal_result_t peal_free(peal_comm_t comm, void* memory); /* NULL is legal; refused while in use */

#ifdef __cplusplus
}
#endif

#endif
