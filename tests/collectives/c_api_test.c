/* The C API from C: two ranks as processes, every function once, and errors in words. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collectives/peal.h"

#define CHECK(condition)                                                                                \
  do {                                                                                                  \
    if (!(condition)) {                                                                                 \
      fprintf(stderr, "%s:%d: not true: %s (%s)\n", __FILE__, __LINE__, #condition, peal_last_error()); \
      exit(1);                                                                                          \
    }                                                                                                   \
  } while (0)
#define OK(call) CHECK((call) == PEAL_OK)

static void check_collectives(peal_comm_t comm, int rank) {
  float in[8], out[16];
  for (int i = 0; i < 8; i++) in[i] = (float)(rank * 8 + i);
  OK(peal_all_reduce(in, out, 8, PEAL_FLOAT32, PEAL_SUM, comm, NULL));
  CHECK(out[3] == 3 + 11);
  OK(peal_reduce_scatter(in, out, 4, PEAL_FLOAT32, PEAL_MAX, comm, NULL));
  CHECK(out[0] == (float)(8 + rank * 4));
  OK(peal_all_gather(in, out, 8, PEAL_FLOAT32, comm, NULL));
  CHECK(out[15] == 15);
  OK(peal_broadcast(in, out, 8, PEAL_FLOAT32, 1, comm, NULL));
  CHECK(out[0] == 8);
  OK(peal_reduce(in, out, 8, PEAL_FLOAT32, PEAL_AVG, 0, comm, NULL));
  CHECK(rank == 1 || out[0] == 4);
  OK(peal_gather(in, out, 8, PEAL_FLOAT32, 0, comm, NULL));
  CHECK(rank == 1 || out[9] == 9);
  OK(peal_scatter(in, out, 4, PEAL_FLOAT32, 1, comm, NULL));
  CHECK(out[0] == (float)(8 + rank * 4));
  OK(peal_all_to_all(in, out, 4, PEAL_FLOAT32, comm, NULL));
  CHECK(out[4] == (float)(8 + rank * 4));
  OK(peal_barrier(comm, NULL));
}

static void check_v_variants(peal_comm_t comm, int rank) {
  const size_t counts[2] = {1, 3}, displacements[2] = {0, 2};
  int32_t in[5] = {rank, rank, rank + 10, rank + 20, rank + 30}, out[5];
  memset(out, -1, sizeof(out));
  OK(peal_all_gather_v(in, counts[rank], out, counts, displacements, PEAL_INT32, comm));
  CHECK(out[0] == 0 && out[1] == -1 && out[2] == 1 && out[4] == 11);
  OK(peal_reduce_scatter_v(in, counts, displacements, out, counts[rank], PEAL_INT32, PEAL_SUM, comm));
  CHECK(out[0] == (rank == 0 ? 1 : 21));
  OK(peal_gather_v(in, counts[rank], out, counts, displacements, PEAL_INT32, 0, comm));
  OK(peal_scatter_v(in, counts, displacements, out, counts[rank], PEAL_INT32, 1, comm));
  CHECK(out[0] == (rank == 0 ? 1 : 11));
  const size_t equal[2] = {2, 2}, apart[2] = {0, 3};
  OK(peal_all_to_all_v(in, equal, apart, out, equal, apart, PEAL_INT32, comm));
  CHECK(out[3] == (rank == 0 ? 1 : 21));
}

static void check_works(peal_comm_t comm, int rank) {
  int64_t mine = rank, theirs = -1, sum = 0;
  peal_work_t send, recv, group;
  OK(peal_send(&mine, 1, PEAL_INT64, 1 - rank, comm, &send));
  OK(peal_recv(&theirs, 1, PEAL_INT64, 1 - rank, comm, &recv));
  OK(peal_wait(recv));
  OK(peal_wait(send));
  CHECK(theirs == 1 - rank);
  OK(peal_group_begin(comm));
  OK(peal_send(&mine, 1, PEAL_INT64, 1 - rank, comm, NULL));
  OK(peal_recv(&theirs, 1, PEAL_INT64, 1 - rank, comm, NULL));
  OK(peal_all_reduce(&mine, &sum, 1, PEAL_INT64, PEAL_SUM, comm, NULL));
  OK(peal_group_end(comm, &group));
  for (int done = 0; !done;) OK(peal_test(group, &done));
  OK(peal_wait(group));
  CHECK(sum == 1);
  OK(peal_wait(NULL));
}

static void check_memory_and_split(peal_comm_t comm, int rank) {
  void* memory = NULL;
  OK(peal_allocate(comm, 4096, &memory));
  double* values = memory;
  CHECK(values[7] == 0);
  values[7] = rank + 1;
  OK(peal_all_reduce(values, values, 512, PEAL_FLOAT64, PEAL_SUM, comm, NULL));
  CHECK(values[7] == 3);
  OK(peal_free(comm, memory));
  CHECK(peal_free(comm, &rank) == PEAL_INVALID_ARGUMENT);
  peal_comm_t child;
  int size = 0, new_rank = -1;
  OK(peal_comm_split(comm, 0, -rank, &child));
  OK(peal_comm_size(child, &size));
  OK(peal_comm_rank(child, &new_rank));
  CHECK(size == 2 && new_rank == 1 - rank);
  OK(peal_comm_destroy(child));
}

static void check_errors(peal_comm_t comm) {
  float value = 1;
  CHECK(peal_broadcast(&value, &value, 1, PEAL_FLOAT32, 7, comm, NULL) == PEAL_INVALID_ARGUMENT);
  CHECK(strstr(peal_last_error(), "root is 7") != NULL);
  CHECK(peal_all_reduce(&value, &value, 1, (peal_data_type_t)99, PEAL_SUM, comm, NULL) == PEAL_INVALID_ARGUMENT);
  CHECK(strstr(peal_last_error(), "99") != NULL);
  CHECK(peal_barrier(NULL, NULL) == PEAL_INVALID_ARGUMENT);
  CHECK(strcmp(peal_error_string(PEAL_PEER_FAILED), "peer failed") == 0);
  CHECK(strcmp(peal_error_string((peal_result_t)1234), "unknown error") == 0);
}

static void run(int rank, const char* root) {
  peal_comm_t comm;
  OK(peal_comm_init_rank(&comm, rank, 2, root, "a secret"));
  check_collectives(comm, rank);
  check_v_variants(comm, rank);
  check_works(comm, rank);
  check_memory_and_split(comm, rank);
  check_errors(comm);
  OK(peal_comm_abort(comm, "the end"));
  float value = 1;
  CHECK(peal_all_reduce(&value, &value, 1, PEAL_FLOAT32, PEAL_SUM, comm, NULL) == PEAL_ABORTED);
  OK(peal_comm_destroy(comm));
}

int main(void) {
  char root[64];
  snprintf(root, sizeof(root), "unix:peal-c-api-test-%d", (int)getpid());
  CHECK(peal_version()[0] != '\0');
  peal_comm_t comm;
  CHECK(peal_comm_init_rank(&comm, 5, 2, root, NULL) == PEAL_INVALID_ARGUMENT);
  CHECK(comm == NULL);
  const pid_t child = fork();
  CHECK(child >= 0);
  run(child == 0 ? 1 : 0, root);
  if (child == 0) return 0;
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  puts("ok");
  return 0;
}
