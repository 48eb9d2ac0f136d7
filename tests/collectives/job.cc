#include "tests/collectives/job.h"

#include <exception>
#include <memory>
#include <thread>
#include <vector>

#include "transports/bootstrap/launch.h"

namespace peal::testing {

void run_job(int ranks, const Environment& settings, const std::function<void(Communicator&)>& body) {
  const auto shared = std::make_shared<const Settings>(Settings::from(settings));
  const std::string root = random_unix_root(), key = random_key_text();
  std::vector<std::exception_ptr> errors(static_cast<size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; rank++) {
    threads.emplace_back([&, rank] {
      try {
        Communicator communicator({rank, ranks, root, key, shared});
        body(communicator);
      } catch (...) {
        errors[static_cast<size_t>(rank)] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace peal::testing
