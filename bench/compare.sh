#!/usr/bin/env bash
# Peal beside the peers found on this machine: Open MPI (default, over UCX, tuned), MPICH, Gloo, PyTorch's Gloo.
#   bench/compare.sh [--quick] [--ranks 2,4,8] [--cases PATTERN] [--json FILE]
# Builds Peal and what is needed of the peers (Debian: openmpi-bin libopenmpi-dev, mpich libmpich-dev, libgloo-dev,
# python3-torch), then runs them in turns. Nothing else should run meanwhile.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cmake --preset release -DPEAL_BENCH=ON -DPEAL_TESTS=OFF >/dev/null
cmake --build build/release --parallel --target compare_peal peal-run -- --quiet
out=build/release/peers
mkdir -p "$out"

build() { # NAME COMPILER FLAGS...
  local name=$1 compiler=$2
  shift 2
  command -v "$compiler" >/dev/null || { echo "# no $compiler here: without $name"; return 0; }
  "$compiler" -std=c++17 -O2 bench/peers/"${name%%-*}.cc" "$@" -o "$out/$name" ||
    { echo "# $name does not build here"; rm -f "$out/$name"; }
}
build mpi-openmpi mpicxx.openmpi
build mpi-mpich mpicxx.mpich
if [[ -e /usr/include/gloo/allreduce.h ]]; then build gloo g++ -lgloo -lpthread; else echo "# no Gloo here"; fi

exec python3 bench/compare.py --bin build/release/bin --peers "$out" "$@"
