#!/usr/bin/env bash
# From a clone to a measured all-reduce and a trained model: installs what is missing, builds, runs both.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tools/install_packages.sh build

echo "== building (build/release) =="
cmake --preset release -DPEAL_TESTS=OFF -DPEAL_BENCH=OFF
cmake --build build/release --parallel
bin=build/release/bin

echo
echo "== all-reduce on 2 local ranks =="
"$bin/all_reduce_perf" --ranks 2 -b 8 -e 16M -f 8

echo
echo "== training a perceptron on Fashion-MNIST, data parallel on 2 local ranks, 2 epochs =="
"$bin/trainer" train trainer/examples/fashion-mnist.toml --ranks 2 --set train.epochs=2

cat <<TEXT

Where to go next:
  $bin/all_reduce_perf --help             the flags of nccl-tests; every collective has such a program
  PEAL_TRANSPORT=tcp $bin/all_reduce_perf --ranks 4
                                                         the same over another transport
  $bin/peal-info                          transports, algorithms, settings (--env), plans (--plan)
  $bin/peal-topo                          the machine; --rings, --draw machine.svg, --from a file or "host:8 dgx-h100"
  $bin/peal-sim                           what collectives would cost on machines that are not here
  $bin/peal-run -n 4 -- your_program      ranks of your own program
  docs/getting_started.md                               how to use the library from C++ and C
  tools/test.sh                                         all tests
TEXT
