#include "transports/registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "transports/faulty.h"
#include "transports/inproc.h"
#include "transports/shm.h"
#include "transports/tcp.h"
#include "transports/traced.h"
#ifdef PEAL_HAVE_UCX
#include "transports/ucx.h"
#endif

namespace peal {
namespace {

constexpr TransportEntry kEntries[] = {
    {"inproc", "threads of one process, through memory", true, inproc_why_not, create_inproc},
    {"shm", "processes of one host, through shared memory", true, shm_why_not, create_shm},
    {"tcp", "sockets over IPv4 or IPv6, to any host", true, tcp_why_not, create_tcp},
#ifdef PEAL_HAVE_UCX
    {"ucx", "whatever wires UCX finds", false, ucx_why_not, create_ucx},
#endif
};

// Words that wrap another transport: PEAL_TRANSPORT=traced:tcp.
struct WrapperEntry {
  std::string_view prefix;
  std::unique_ptr<Transport> (*wrap)(std::unique_ptr<Transport> inner, const TransportContext& context);
};
constexpr std::array kWrappers = {WrapperEntry{"faulty:", wrap_faulty}, WrapperEntry{"traced:", wrap_traced}};

const TransportEntry* entry_named(std::string_view name) {
  auto found = std::ranges::find(kEntries, name, &TransportEntry::name);
  return found == std::end(kEntries) ? nullptr : &*found;
}

[[noreturn]] void throw_unknown(std::string_view word) {
  std::vector<std::string> names, prefixes;
  for (const TransportEntry& entry : kEntries) names.emplace_back(entry.name);
  for (const WrapperEntry& wrapper : kWrappers) prefixes.push_back(fmt::format("{}NAME", wrapper.prefix));
  std::string close = nearest(word, names);
  std::string hint = close.empty() ? "" : fmt::format(", did you mean {}?", close);
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("PEAL_TRANSPORT: no transport \"{}\"{} Valid: {}; ^NAME excludes; {} wrap", word,
                          hint.empty() ? "." : hint, fmt::join(names, ", "), fmt::join(prefixes, ", ")));
}

// "traced:faulty:tcp": wrappers, outermost first, and what they wrap.
struct Wanted {
  std::string word;
  std::vector<const WrapperEntry*> wrappers;
  const TransportEntry* entry = nullptr;
};

Wanted parse_word(std::string_view word) {
  if (word.empty()) throw Error(ErrorCode::kInvalidArgument, "PEAL_TRANSPORT: empty word in the list");
  Wanted wanted{std::string(word), {}, nullptr};
  std::string_view rest = word;
  auto wraps_rest = [&](const WrapperEntry& wrapper) { return rest.starts_with(wrapper.prefix); };
  for (auto found = kWrappers.begin(); (found = std::ranges::find_if(kWrappers, wraps_rest)) != kWrappers.end();) {
    wanted.wrappers.push_back(&*found);
    rest.remove_prefix(found->prefix.size());
  }
  wanted.entry = entry_named(rest);
  if (!wanted.entry) throw_unknown(rest);
  return wanted;
}

std::vector<std::string_view> split(std::string_view list) {
  std::vector<std::string_view> words;
  if (list.empty()) return words;
  for (size_t comma = 0; (comma = list.find(',')) != list.npos; list.remove_prefix(comma + 1)) {
    words.push_back(list.substr(0, comma));
  }
  words.push_back(list);
  return words;
}

// What the list asks for, in order. Names and exclusions don't mix: their meaning together would be a guess.
std::vector<Wanted> parse_list(std::string_view list) {
  std::vector<Wanted> wanted;
  std::vector<const TransportEntry*> excluded;
  for (std::string_view word : split(list)) {
    if (word.starts_with('^')) {
      excluded.push_back(parse_word(word.substr(1)).entry);
      continue;
    }
    if (std::ranges::find(wanted, word, &Wanted::word) != wanted.end()) {
      throw Error(ErrorCode::kInvalidArgument, fmt::format("PEAL_TRANSPORT names {} twice", word));
    }
    wanted.push_back(parse_word(word));
  }
  if (!wanted.empty() && !excluded.empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("PEAL_TRANSPORT is \"{}\": expected names or ^exclusions, not both", list));
  }
  if (!wanted.empty()) return wanted;
  for (const TransportEntry& entry : kEntries) {
    if (entry.by_default && std::ranges::find(excluded, &entry) == excluded.end()) {
      wanted.push_back({std::string(entry.name), {}, &entry});
    }
  }
  return wanted;
}

std::unique_ptr<Transport> create(const Wanted& wanted, const TransportContext& context) {
  std::unique_ptr<Transport> transport = wanted.entry->create(context);
  for (auto wrapper = wanted.wrappers.rbegin(); wrapper != wanted.wrappers.rend(); ++wrapper) {
    transport = (*wrapper)->wrap(std::move(transport), context);
  }
  return transport;
}

// Adds the transport, or the reason why it can't be used here. A wrong setting is not a reason but an error.
void try_to_add(const Wanted& wanted, const TransportContext& context, TransportChoice& choice) {
  if (auto reason = wanted.entry->why_not(context)) {
    choice.not_taken.push_back(fmt::format("{}: {}", wanted.word, *reason));
    return;
  }
  try {
    choice.transports.push_back(create(wanted, context));
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kInvalidArgument) throw;
    choice.not_taken.push_back(fmt::format("{}: {}", wanted.word, error.what()));
  }
}

}  // namespace

std::span<const TransportEntry> transport_entries() noexcept { return kEntries; }

TransportChoice create_transports(std::string_view list, const TransportContext& context) {
  std::vector<Wanted> wanted = parse_list(list);
  TransportChoice choice;
  for (const Wanted& one : wanted) try_to_add(one, context, choice);
  if (choice.transports.empty()) {
    throw Error(ErrorCode::kUnsupported, fmt::format("rank {}: no usable transport in PEAL_TRANSPORT=\"{}\": {}",
                                                     context.rank, list, fmt::join(choice.not_taken, "; ")));
  }
  for (const TransportEntry& entry : kEntries) {
    if (std::ranges::find(wanted, &entry, &Wanted::entry) == wanted.end()) {
      choice.not_taken.push_back(fmt::format("{}: not asked for", entry.name));
    }
  }
  return choice;
}

}  // namespace peal
