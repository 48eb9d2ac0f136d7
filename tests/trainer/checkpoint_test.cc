// Checkpoints: what is written comes back, what is damaged is refused, what is interrupted changes nothing.
#include "trainer/checkpoint/checkpoint.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>

#include "scratch_folder.h"
#include "throws_error.h"
#include "trainer/checkpoint/atomic_file.h"
#include "trainer/checkpoint/safetensors.h"
#include "trainer/model/model.h"

namespace peal::trainer {
namespace {

std::vector<std::byte> file_of(std::string header, size_t data_bytes, uint64_t length) {
  std::vector<std::byte> bytes;
  for (size_t i = 0; i < 8; ++i) bytes.push_back(static_cast<std::byte>(length >> (8 * i)));
  for (char c : header) bytes.push_back(static_cast<std::byte>(c));
  bytes.resize(bytes.size() + data_bytes);
  return bytes;
}

std::vector<std::byte> file_of(const std::string& header, size_t data_bytes) {
  return file_of(header, data_bytes, header.size());
}

void expect_refused(const std::vector<std::byte>& file, const std::vector<std::string>& words) {
  expect_error([&] { parse_safetensors(file, "x.safetensors"); }, ErrorCode::kInvalidArgument, words);
}

std::string tensor(const std::string& name, const std::string& shape, const std::string& offsets) {
  return "\"" + name + "\":{\"dtype\":\"F32\",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}";
}

TEST(Safetensors, RoundTrip) {
  const ScratchFolder folder;
  const std::vector<float> a = {1, -2.5F, std::numeric_limits<float>::denorm_min(), INFINITY, 5, 6}, b = {};
  const std::vector<int64_t> c = {1LL << 60};
  const std::vector<TensorView> tensors = {{"a", "F32", {2, 3}, std::as_bytes(std::span(a))},
                                           {"b", "F32", {0, 4}, std::as_bytes(std::span(b))},
                                           {"c\"\n", "I64", {}, std::as_bytes(std::span(c))}};
  write_safetensors(folder / "x.safetensors", tensors, {{"format", "pt"}, {"step", "12"}});
  const auto bytes = read_bytes(folder / "x.safetensors");
  EXPECT_EQ((bytes.size() - 24 - 8) % 64, 0U);  // data begins on a 64-byte boundary
  const Safetensors parsed = parse_safetensors(bytes, "x");
  EXPECT_EQ(parsed.metadata.at("step"), "12");
  ASSERT_EQ(parsed.tensors.size(), 3U);
  for (const TensorView& written : tensors) {
    const TensorView* read = parsed.find(written.name);
    ASSERT_NE(read, nullptr);
    EXPECT_EQ(read->dtype, written.dtype);
    EXPECT_EQ(read->shape, written.shape);
    ASSERT_EQ(read->bytes.size(), written.bytes.size());
    if (!written.bytes.empty()) {
      EXPECT_EQ(std::memcmp(read->bytes.data(), written.bytes.data(), written.bytes.size()), 0);
    }
  }
  EXPECT_EQ(parsed.find("none"), nullptr);
}

TEST(Safetensors, HeaderIsWhatTheFormatSays) {
  const ScratchFolder folder;
  const std::vector<float> a = {1, 2};
  write_safetensors(folder / "x", std::vector<TensorView>{{"a", "F32", {2}, std::as_bytes(std::span(a))}}, {});
  const auto bytes = read_bytes(folder / "x");
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  EXPECT_EQ(text[0], 56);  // little-endian length, padded so that 8 + 56 = 64
  EXPECT_EQ(std::string(text + 1, 7), std::string(7, '\0'));
  EXPECT_EQ(std::string(text + 8, 56), R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}  )");
  EXPECT_EQ(bytes.size(), 72U);
}

TEST(Safetensors, RefusesBadLengths) {
  expect_refused({}, {"x.safetensors", "at least 8 bytes, found 0"});
  expect_refused(file_of("{}", 0, 3), {"header of 3 bytes, found 2", "truncated"});
  expect_refused(file_of("{}", 0, 0xFFFFFFFFFFFFFFFF), {"over the limit"});
  expect_refused(file_of("{}", 5), {"expected 0 bytes of data, found 5"});
}

TEST(Safetensors, RefusesBadHeaders) {
  expect_refused(file_of("{", 0), {"not JSON"});
  expect_refused(file_of("\xff\xfe", 0), {"not JSON"});
  expect_refused(file_of("[]", 0), {"not a JSON object"});
  expect_refused(file_of("{\"a\":1}", 0), {"tensor a does not have exactly dtype, shape and data_offsets"});
  expect_refused(file_of("{\"__metadata__\":{\"a\":1}}", 0), {"__metadata__ entry a is not a string"});
  expect_refused(file_of("{" + tensor("a", "[1]", "[0,4]") + "," + tensor("a", "[1]", "[0,4]") + "}", 4),
                 {"the name a twice"});
  expect_refused(file_of(R"({"a":{"dtype":"Q9","shape":[],"data_offsets":[0,4]}})", 4), {"unknown type Q9"});
  expect_refused(file_of("{" + tensor("a", "[-1]", "[0,4]") + "}", 4), {"shape of tensor a"});
  expect_refused(file_of("{" + tensor("a", "[1.0]", "[0,4]") + "}", 4), {"shape of tensor a"});
  expect_refused(file_of("{" + tensor("a", "[1]", "[0,4,8]") + "}", 4), {"3 numbers, not 2"});
  expect_refused(file_of(std::string(200000, '['), 0), {"not JSON"});
}

TEST(Safetensors, RefusesBadOffsets) {
  expect_refused(file_of("{" + tensor("a", "[1]", "[8,4]") + "}", 8), {"tensor a are reversed: 8 > 4"});
  expect_refused(file_of("{" + tensor("a", "[2]", "[0,8]") + "}", 7),
                 {"tensor a ends at byte 8", "7 bytes", "truncated"});
  expect_refused(file_of("{" + tensor("a", "[3]", "[0,8]") + "}", 8), {"12 bytes by its shape, 8 by its offsets"});
  expect_refused(file_of("{" + tensor("a", "[4611686018427387904,4]", "[0,0]") + "}", 0),
                 {"shape of tensor a overflows"});
  expect_refused(file_of("{" + tensor("a", "[1]", "[18446744073709551612,18446744073709551615]") + "}", 4),
                 {"tensor a ends at byte"});
  expect_refused(file_of("{" + tensor("a", "[2]", "[0,8]") + "," + tensor("b", "[2]", "[4,12]") + "}", 12),
                 {"tensor b overlaps"});
  expect_refused(file_of("{" + tensor("a", "[1]", "[0,4]") + "," + tensor("b", "[1]", "[8,12]") + "}", 12),
                 {"hole of 4 bytes before tensor b"});
}

// A model of `width` with its optimizer.
struct State {
  explicit State(size_t width) : model(make_mlp(std::vector<size_t>{6, width, 3})), adamw(model.parameters(), {}) {}

  void fill(float value) {
    const size_t count = model.parameters().flat_size();
    for (float* array : {model.parameters().values(), adamw.m(), adamw.v()}) std::fill_n(array, count, value);
  }
  void expect_filled(float value) {
    for (const Parameter* parameter : model.parameters().all()) {
      for (size_t i = 0; i < parameter->size(); ++i) {
        ASSERT_EQ(parameter->value[i], value);
        ASSERT_EQ(adamw.m()[parameter->offset + i], value);
        ASSERT_EQ(adamw.v()[parameter->offset + i], value);
      }
    }
  }
  void save(const std::string& folder, uint64_t step) {
    save_checkpoint(folder, model.parameters(), adamw, {step, 1, 256});
  }
  Progress load(const std::string& folder) { return load_checkpoint(folder, model.parameters(), &adamw); }

  Model model;
  Adamw adamw;
};

TEST(Checkpoint, RoundTrip) {
  const ScratchFolder folder;
  State saved(8), loaded(8);
  saved.fill(3);
  saved.save(folder / "made/when/needed", 41);
  const Progress progress = loaded.load(folder / "made/when/needed");
  EXPECT_EQ(progress.step, 41U);
  EXPECT_EQ(progress.seed, 1U);
  EXPECT_EQ(progress.batch, 256U);
  loaded.expect_filled(3);
}

TEST(Checkpoint, RefusesAnotherModelAndChangesNothing) {
  const ScratchFolder folder;
  State saved(8), other(9);
  saved.fill(3);
  saved.save(folder.path(), 1);
  other.fill(7);
  expect_error([&] { other.load(folder.path()); }, ErrorCode::kInvalidArgument,
               {"another model", "fc1.weight", "[8, 6]", "[9, 6]"});
  other.expect_filled(7);
  Model deeper = make_mlp(std::vector<size_t>{6, 8, 3, 3}), shallower = make_mlp(std::vector<size_t>{6, 8});
  expect_error([&] { load_checkpoint(folder.path(), deeper.parameters(), nullptr); }, ErrorCode::kInvalidArgument,
               {"no tensor fc3.weight [3, 3]"});
  expect_error([&] { load_checkpoint(folder.path(), shallower.parameters(), nullptr); }, ErrorCode::kInvalidArgument,
               {"tensor fc2", "is not in this one"});
}

TEST(Checkpoint, RefusesMissingAndTruncatedFiles) {
  const ScratchFolder folder;
  State state(8);
  expect_error([&] { state.load(folder.path()); }, ErrorCode::kInvalidArgument, {"checkpoint.safetensors", "No such"});
  state.save(folder.path(), 1);
  const std::string path = checkpoint_path(folder.path());
  const auto whole = std::filesystem::file_size(path);
  for (const auto size : {whole - 1, whole / 2, uintmax_t{100}, uintmax_t{7}}) {
    std::filesystem::resize_file(path, size);
    EXPECT_THROW(state.load(folder.path()), Error) << size;
  }
}

TEST(Checkpoint, FailedWriteLeavesTheOldOneAndNoTemporary) {
  const ScratchFolder folder;
  State state(64);
  state.fill(5);
  state.save(folder.path(), 5);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {  // a file size limit stands in for a full disk
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{4096, 4096};
    setrlimit(RLIMIT_FSIZE, &limit);
    state.fill(6);
    try {
      state.save(folder.path(), 6);
    } catch (const Error& error) {
      _exit(error.code() == ErrorCode::kSystem ? 42 : 1);
    }
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 42);
  state.fill(0);
  EXPECT_EQ(state.load(folder.path()).step, 5U);
  state.expect_filled(5);
  EXPECT_FALSE(std::filesystem::exists(checkpoint_path(folder.path()) + ".tmp"));
}

// In the child: saves checkpoint after checkpoint, and says so after each, until it is killed.
[[noreturn]] void save_for_ever(const std::string& folder, int tell) {
  alarm(60);
  State state(256);
  for (uint64_t step = 1;; ++step) {
    state.fill(static_cast<float>(step));
    state.save(folder, step);
    if (write(tell, "s", 1) != 1) _exit(1);
  }
}

TEST(Checkpoint, KilledAtAnyMomentLeavesAWholeOne) {
  for (int round = 0; round < 15; ++round) {
    const ScratchFolder folder;
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) save_for_ever(folder.path(), ends[1]);
    close(ends[1]);
    char said = 0;
    ASSERT_EQ(read(ends[0], &said, 1), 1);
    usleep(static_cast<useconds_t>(round * 137));  // another point of a later save in each round
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    close(ends[0]);
    State state(256);
    const Progress progress = state.load(folder.path());
    EXPECT_GE(progress.step, 1U);
    state.expect_filled(static_cast<float>(progress.step));
    state.save(folder.path(), 99);  // a temporary left behind is no obstacle
    EXPECT_EQ(state.load(folder.path()).step, 99U);
  }
}

}  // namespace
}  // namespace peal::trainer
