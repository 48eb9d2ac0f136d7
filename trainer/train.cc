#include "trainer/train.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

#include "trainer/checkpoint/checkpoint.h"
#include "trainer/data/sampler.h"
#include "trainer/evaluate.h"
#include "trainer/math/matmul.h"
#include "trainer/metrics/progress_line.h"
#include "trainer/model/loss.h"
#include "trainer/optim/adamw.h"
#include "trainer/optim/learning_rate.h"
#include "trainer/parallel/data_parallel.h"
#include "trainer/schedule/step.h"

namespace peal::trainer {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

size_t positive(int64_t value) { return static_cast<size_t>(value); }  // Config has checked the range

Normalisation normalisation_of(const Config& config) { return {config.mean, config.deviation}; }

// The batch is fixed, and so is the number of steps: enough to see every sample `epochs` times.
uint64_t steps_of(const Config& config, size_t samples) {
  return (positive(config.epochs) * samples + positive(config.batch) - 1) / positive(config.batch);
}

LearningRate learning_rate_of(const Config& config, uint64_t steps) {
  return {config.learning_rate, config.schedule, positive(config.warmup_steps), steps, config.final_fraction};
}

AdamwOptions adamw_of(const Config& config) {
  return {config.beta1, config.beta2, config.epsilon, config.weight_decay};
}

// Cores are shared out evenly; a rank with more threads than cores of its own slows all of them down.
int choose_threads(Communicator& communicator, const Config& config) {
  const int threads = config.threads > 0 ? static_cast<int>(config.threads) : communicator.cores();
  set_matmul_threads(threads);
  return threads;
}

// One rank's part of a run.
class Run {
 public:
  Run(Communicator& communicator, const Config& config, const TrainData& data, const TrainOptions& options);
  TrainSummary go();

 private:
  void resume();
  void introduce(int threads);
  StepRecord one_step(uint64_t step);
  bool ends_epoch(uint64_t step) const;
  void save(uint64_t step);

  Communicator& communicator_;
  const Config& config_;
  const TrainData& data_;
  const TrainOptions& options_;
  const uint64_t total_steps_;
  const size_t local_batch_;
  const LearningRate learning_rate_;
  Model model_;
  Adamw optimizer_;
  DataParallel parallel_;
  SoftmaxCrossEntropy loss_;
  Activations activations_;
  Sampler sampler_;
  std::vector<size_t> samples_;
  std::vector<uint8_t> labels_;
  uint64_t done_ = 0;  // steps
  JsonLog log_;
  ProgressLine progress_;
  bool saved_ = false;
};

bool speaks(const Communicator& communicator, const TrainOptions& options) {
  return communicator.rank() == 0 && !options.quiet;
}

Run::Run(Communicator& communicator, const Config& config, const TrainData& data, const TrainOptions& options)
    : communicator_(communicator),
      config_(config),
      data_(data),
      options_(options),
      total_steps_(steps_of(config, data.train.size())),
      local_batch_(positive(config.batch) / static_cast<size_t>(communicator.size())),
      learning_rate_(learning_rate_of(config, total_steps_)),
      model_(make_model(config, data.train.features())),
      optimizer_(model_.parameters(), adamw_of(config)),
      parallel_(communicator, model_.parameters(), positive(config.first_bucket_kib) << 10U,
                positive(config.bucket_kib) << 10U),
      activations_(model_, local_batch_),
      sampler_(positive(config.seed), data.train.size()),
      samples_(local_batch_),
      labels_(local_batch_),
      log_(communicator.rank() == 0 ? options.log_file : "", options.resume),
      progress_(speaks(communicator, options), total_steps_, static_cast<double>(config.epochs)) {
  const int threads = choose_threads(communicator, config);
  if (communicator.rank() == 0) model_.initialise(positive(config.seed));
  if (options.resume) resume();
  parallel_.replicate();
  introduce(threads);
}

// Rank 0 reads; the others get what it read: parameters in replicate(), moments and the step here.
void Run::resume() {
  Progress found;
  if (communicator_.rank() == 0) {
    found = load_checkpoint(options_.checkpoint_directory, model_.parameters(), &optimizer_);
    if (found.seed != positive(config_.seed) || found.batch != positive(config_.batch)) {
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("checkpoint {} was made with seed = {}, train.batch = {}; this run has {} and {}, and "
                              "would see other samples",
                              checkpoint_path(options_.checkpoint_directory), found.seed, found.batch, config_.seed,
                              config_.batch));
    }
  }
  const size_t count = model_.parameters().flat_size();
  communicator_.broadcast(&found.step, &found.step, 1, DataType::kUint64, 0);
  communicator_.broadcast(optimizer_.m(), optimizer_.m(), count, DataType::kFloat32, 0);
  communicator_.broadcast(optimizer_.v(), optimizer_.v(), count, DataType::kFloat32, 0);
  done_ = found.step;
}

void Run::introduce(int threads) {
  progress_.say(fmt::format("{} parameters in {} buckets, {} rank(s) x {} thread(s), batch {} = {} x {}, {}",
                            model_.parameter_count(), parallel_.buckets(), communicator_.size(), threads, config_.batch,
                            communicator_.size(), local_batch_, matmul_library()));
  if (done_ > 0) progress_.say(fmt::format("resumed after step {}", done_));
}

bool Run::ends_epoch(uint64_t step) const {
  const uint64_t batch = positive(config_.batch), samples = data_.train.size();
  return step * batch / samples > (step - 1) * batch / samples || step == total_steps_;
}

StepRecord Run::one_step(uint64_t step) {
  const auto begin = Clock::now();
  const uint64_t first =
      (step - 1) * positive(config_.batch) + static_cast<size_t>(communicator_.rank()) * local_batch_;
  sampler_.read(first, samples_);
  data_.train.gather(samples_, normalisation_of(config_), activations_.at(0, local_batch_), labels_);
  StepParts parts{communicator_, model_, loss_, parallel_, optimizer_, activations_};
  const StepRule rule{step, learning_rate_.at(step), static_cast<double>(config_.batch)};

  StepRecord record;
  record.loss = run_step(parts, labels_, rule);
  record.step = step;
  record.samples = rule.global_batch;
  record.epoch = static_cast<double>(step) * record.samples / static_cast<double>(data_.train.size());
  record.learning_rate = rule.learning_rate;
  record.seconds = seconds_since(begin);
  record.wait_fraction = parallel_.take_waited_seconds() / record.seconds;
  if (std::isfinite(record.loss)) return record;
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("the loss of step {} is {}: a lower optim.lr (now {}) or a warm-up may help", step,
                          record.loss, config_.learning_rate),
              {communicator_.rank()});
}

void Run::save(uint64_t step) {
  if (options_.checkpoint_directory.empty() || communicator_.rank() != 0) return;
  try {
    save_checkpoint(options_.checkpoint_directory, model_.parameters(), optimizer_,
                    {step, positive(config_.seed), positive(config_.batch)});
    saved_ = true;
  } catch (const Error& error) {
    saved_ = false;
    progress_.say(fmt::format("warning: no checkpoint after step {}: {}", step, error.what()));
  }
}

TrainSummary Run::go() {
  const auto begin = Clock::now();
  TrainSummary summary;
  double samples = 0, seconds = 0, waited = 0;
  while (done_ < total_steps_) {
    StepRecord record = one_step(done_ + 1);
    samples += record.samples;
    seconds += record.seconds;
    waited += record.wait_fraction * record.seconds;
    ++done_;
    if (ends_epoch(done_)) {
      record.evaluation = evaluate(communicator_, model_, loss_, activations_, data_.test, normalisation_of(config_));
      summary.evaluation = *record.evaluation;
      save(done_);
    }
    log_.write(record);
    progress_.update(record);
  }
  summary.steps = done_;
  summary.seconds = seconds_since(begin);
  summary.samples_per_second = samples / std::max(seconds, 1e-9);
  summary.wait_fraction = waited / std::max(seconds, 1e-9);
  summary.checkpoint_saved = saved_;
  return summary;
}

}  // namespace

TrainData read_data(const Config& config) {
  const size_t classes = positive(config.classes);
  return {ImageDataset::read(config.data_path(config.train_images), config.data_path(config.train_labels), classes,
                             positive(config.train_limit)),
          ImageDataset::read(config.data_path(config.test_images), config.data_path(config.test_labels), classes,
                             positive(config.test_limit))};
}

Model make_model(const Config& config, size_t features) {
  std::vector<size_t> widths = {features};
  for (int64_t width : config.hidden) widths.push_back(positive(width));
  widths.push_back(positive(config.classes));
  return make_mlp(widths);
}

TrainSummary train(Communicator& communicator, const Config& config, const TrainData& data,
                   const TrainOptions& options) {
  check_batch(config.batch, communicator.size());
  return Run(communicator, config, data, options).go();
}

Evaluation evaluate_checkpoint(Communicator& communicator, const Config& config, const TrainData& data,
                               const std::string& directory) {
  Model model = make_model(config, data.test.features());
  if (communicator.rank() == 0) load_checkpoint(directory, model.parameters(), nullptr);
  ParameterSet& parameters = model.parameters();
  communicator.broadcast(parameters.values(), parameters.values(), parameters.flat_size(), DataType::kFloat32, 0);
  choose_threads(communicator, config);
  Activations activations(model, 512);
  return evaluate(communicator, model, SoftmaxCrossEntropy(), activations, data.test, normalisation_of(config));
}

}  // namespace peal::trainer
