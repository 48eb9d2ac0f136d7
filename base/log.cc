#include "base/log.h"

#include <fmt/format.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "base/error.h"
#include "base/host.h"
#include "base/settings.h"

namespace peal {
namespace {

LogLevel parse_level(const std::string& word) {
  if (word == "WARN") return LogLevel::kWarn;
  if (word == "INFO") return LogLevel::kInfo;
  if (word == "TRACE") return LogLevel::kTrace;
  throw Error(ErrorCode::kInvalidArgument, fmt::format("PEAL_DEBUG='{}': expected WARN, INFO or TRACE", word));
}

std::string file_name(const std::string& pattern, int rank) {
  std::string name;
  for (size_t i = 0; i < pattern.size(); i++) {
    const char next = pattern[i] == '%' && i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    if (next == 'h') {
      name += host_name();
    } else if (next == 'p') {
      name += std::to_string(getpid());
    } else if (next == 'r') {
      name += std::to_string(rank);
    } else {
      name += pattern[i];
      continue;
    }
    i++;
  }
  return name;
}

spdlog::sink_ptr make_sink(const Settings& settings, int rank) {
  if (settings.debug_file.empty()) return std::make_shared<spdlog::sinks::stderr_sink_mt>();
  const std::string name = file_name(settings.debug_file, rank);
  try {
    return std::make_shared<spdlog::sinks::basic_file_sink_mt>(name);
  } catch (const spdlog::spdlog_ex& error) {
    throw Error(ErrorCode::kSystem, fmt::format("PEAL_DEBUG_FILE: can't open '{}': {}", name, error.what()));
  }
}

}  // namespace

struct Log::Sink {
  spdlog::logger logger;
};

Log::Log(const Settings& settings, int rank)
    : level_(parse_level(settings.debug)),
      sink_(std::make_unique<Sink>(Sink{spdlog::logger("peal", make_sink(settings, rank))})) {
  sink_->logger.set_level(spdlog::level::trace);
  sink_->logger.flush_on(spdlog::level::trace);
  sink_->logger.set_pattern(fmt::format("{} %P [{}] %v", host_name(), rank));
}

Log::~Log() = default;

void Log::write(LogLevel level, std::string_view text) {
  if (!enabled(level)) return;
  static constexpr std::string_view kNames[] = {"WARN", "INFO", "TRACE"};
  sink_->logger.info("{} {}", kNames[static_cast<int>(level)], text);
}

}  // namespace peal
