// Log lines on stderr (or PEAL_DEBUG_FILE): "host pid [rank] LEVEL text". One logger per communicator, no globals.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/api.h"

namespace peal {

struct Settings;

enum class LogLevel { kWarn, kInfo, kTrace };

class PEAL_API Log {
 public:
  // Throws Error(kInvalidArgument) for an unknown PEAL_DEBUG, Error(kSystem) when PEAL_DEBUG_FILE can't be opened.
  Log(const Settings& settings, int rank);
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  bool enabled(LogLevel level) const noexcept { return level <= level_; }
  // Thread-safe. Callers format only when enabled(level).
  void write(LogLevel level, std::string_view text);
  void warn(std::string_view text) { write(LogLevel::kWarn, text); }
  void info(std::string_view text) { write(LogLevel::kInfo, text); }

 private:
  struct Sink;
  LogLevel level_;
  std::unique_ptr<Sink> sink_;
};

}  // namespace peal
