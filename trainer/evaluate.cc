#include "trainer/evaluate.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace peal::trainer {

namespace {

struct Sums {
  uint64_t correct = 0;
  double loss = 0;
};

Sums evaluate_range(const Model& model, const Loss& loss, Activations& activations, const ImageDataset& dataset,
                    const Normalisation& normalisation, size_t begin, size_t end) {
  Sums sums;
  std::vector<size_t> samples(activations.max_rows());
  std::vector<uint8_t> labels(activations.max_rows());
  while (begin < end) {
    const size_t rows = std::min(activations.max_rows(), end - begin);
    std::iota(samples.begin(), samples.begin() + static_cast<ptrdiff_t>(rows), begin);
    const std::span<uint8_t> these(labels.data(), rows);
    dataset.gather(std::span(samples).first(rows), normalisation, activations.at(0, rows), these);
    const Matrix outputs = forward(model, activations, rows);
    sums.correct += count_correct(outputs, these);
    sums.loss += loss.forward(outputs, these);
    begin += rows;
  }
  return sums;
}

}  // namespace

Evaluation evaluate(Communicator& communicator, const Model& model, const Loss& loss, Activations& activations,
                    const ImageDataset& dataset, const Normalisation& normalisation) {
  const auto rank = static_cast<size_t>(communicator.rank()), ranks = static_cast<size_t>(communicator.size());
  const size_t share = dataset.size() / ranks, extra = dataset.size() % ranks;
  const size_t begin = rank * share + std::min(rank, extra);
  const size_t end = begin + share + (rank < extra ? 1 : 0);
  Sums sums = evaluate_range(model, loss, activations, dataset, normalisation, begin, end);
  communicator.all_reduce(&sums.correct, &sums.correct, 1, DataType::kUint64);
  communicator.all_reduce(&sums.loss, &sums.loss, 1, DataType::kFloat64);
  return {sums.correct, dataset.size(), sums.loss / static_cast<double>(dataset.size())};
}

}  // namespace peal::trainer
