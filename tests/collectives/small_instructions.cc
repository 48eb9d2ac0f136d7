// What instructions_test.py counts the instructions of: all-reduces of 8 bytes that need not wait, since the other
// rank's contribution is there before. So the count is the same every time.
#include <barrier>
#include <cstdlib>

#include "collectives/communicator.h"
#include "tests/collectives/job.h"

// Its name is what callgrind is told to count in.
extern "C" __attribute__((noinline)) void peal_measured_all_reduce(peal::Communicator& c, float* data) {
  c.all_reduce(data, data, 2, peal::DataType::kFloat32);
}

int main(int, char** argv) {
  const int calls = std::atoi(argv[1]);
  std::barrier both(2);
  peal::testing::run_job(2, {{"PEAL_TRANSPORT", "inproc"}}, [&](peal::Communicator& c) {
    float data[2] = {1, 2};
    for (int i = 0; i <= calls; i++) {  // the first one looks up the processor and is not counted
      peal::Work work;
      if (c.rank() == 1) {
        work = c.all_reduce_async(data, data, 2, peal::DataType::kFloat32);
        work.done();  // puts this rank's contribution
      }
      both.arrive_and_wait();
      if (c.rank() == 0 && i == 0) c.all_reduce(data, data, 2, peal::DataType::kFloat32);
      if (c.rank() == 0 && i > 0) peal_measured_all_reduce(c, data);
      if (c.rank() == 1) work.wait();
      both.arrive_and_wait();
    }
  });
}
