// Metrics as JSON Lines: one object for each step.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

namespace peal::trainer {

struct Evaluation {
  uint64_t correct = 0;
  uint64_t samples = 0;
  double loss = 0;  // mean
  double accuracy() const noexcept { return static_cast<double>(correct) / static_cast<double>(samples); }
};

struct StepRecord {
  uint64_t step = 0;  // counts from 1
  double epoch = 0;   // passes over the training set done, fractions counted
  double loss = 0;
  double learning_rate = 0;
  double samples = 0;                    // of this step, over all ranks
  double seconds = 0;                    // that the step took
  double wait_fraction = 0;              // of these seconds, spent waiting for communication
  std::optional<Evaluation> evaluation;  // after the last step of an epoch
};

class JsonLog {
 public:
  // Replaces the file, or goes on at its end when `append`. An empty path: a log that keeps nothing. Throws
  // Error(kInvalidArgument) when it can't be opened.
  JsonLog(const std::string& path, bool append);

  // One line, flushed. {"step","epoch","loss","learning_rate","samples_per_s","wait_percent"}, and on the last step of
  // an epoch also "test_accuracy" and "test_loss". Throws Error(kSystem) when the line can't be written.
  void write(const StepRecord& record);

 private:
  struct Close {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
  };
  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace peal::trainer
