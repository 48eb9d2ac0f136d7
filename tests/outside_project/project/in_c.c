#include <peal/peal.h>
#include <stdio.h>

int main(void) {
  peal_comm_t comm;
  double value = 1;
  int size = 0;
  if (peal_comm_init(&comm) != PEAL_OK || peal_comm_size(comm, &size) != PEAL_OK ||
      peal_all_reduce(&value, &value, 1, PEAL_FLOAT64, PEAL_SUM, comm, NULL) != PEAL_OK ||
      peal_comm_destroy(comm) != PEAL_OK) {
    fprintf(stderr, "%s\n", peal_last_error());
    return 1;
  }
  return value == size ? 0 : 1;
}
