#include "trainer/metrics/json_log.h"

#include <cerrno>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "trainer/open_error.h"

namespace peal::trainer {

JsonLog::JsonLog(const std::string& path, bool append) : path_(path) {
  if (path.empty()) return;
  file_.reset(std::fopen(path.c_str(), append ? "ae" : "we"));
  if (!file_) throw open_error("log file " + path, errno);
}

void JsonLog::write(const StepRecord& record) {
  if (!file_) return;
  nlohmann::ordered_json line = {{"step", record.step},
                                 {"epoch", record.epoch},
                                 {"loss", record.loss},
                                 {"learning_rate", record.learning_rate},
                                 {"samples_per_s", record.samples / record.seconds},
                                 {"wait_percent", 100 * record.wait_fraction}};
  if (record.evaluation) {
    line["test_accuracy"] = record.evaluation->accuracy();
    line["test_loss"] = record.evaluation->loss;
  }
  const std::string text = line.dump() + "\n";
  if (std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size() || std::fflush(file_.get()) != 0) {
    throw system_error("log file " + path_, errno);
  }
}

}  // namespace peal::trainer
