#!/usr/bin/env bash
# Builds and runs all tests. Arguments go to ctest, e.g. tools/test.sh -R plan. The last lines are ctest's summary.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tools/install_packages.sh all
cmake --preset release -DPEAL_TESTS=ON -DPEAL_BENCH=ON
cmake --build build/release --parallel
exec ctest --test-dir build/release --output-on-failure --no-tests=error "$@"
