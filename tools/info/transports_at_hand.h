// The transports of this process alone, asked for what they are without a job.
#pragma once

#include <string_view>

#include "base/host.h"
#include "base/log.h"
#include "base/settings.h"
#include "transports/registry.h"

namespace peal::info {

class TransportsAtHand {
 public:
  TransportsAtHand() : settings_(Settings::from(process_environment())), log_(settings_, 0) {
    context_.host_id = host_id(settings_);
    context_.settings = &settings_;
    context_.log = &log_;
  }
  TransportsAtHand(const TransportsAtHand&) = delete;
  TransportsAtHand& operator=(const TransportsAtHand&) = delete;

  const TransportContext& context() const { return context_; }

  // Throws Error: an unknown name, or one that can't be used here, and why.
  TransportProperties properties_of(std::string_view name) const {
    return create_transports(name, context_).transports.at(0)->properties();
  }

 private:
  Settings settings_;
  Log log_;
  TransportContext context_;
};

}  // namespace peal::info
