#!/usr/bin/env bash
# build.sh BUILD_FOLDER PROJECT: installs BUILD_FOLDER to a scratch prefix and builds PROJECT against it, three ways.
set -euo pipefail
build=$1 project=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# A prefix that the build was not configured for, as a package builder would have it.
cmake --install "$build" --prefix "$scratch/prefix" >"$scratch/install.log"

cmake -S "$project" -B "$scratch/build" -DCMAKE_PREFIX_PATH="$scratch/prefix" >"$scratch/configure.log"
cmake --build "$scratch/build" --parallel
for program in in_cxx_static in_cxx_shared in_c; do
  "$scratch/prefix/bin/peal-run" -n 2 -- "$scratch/build/$program"
done

pc=$(dirname "$(find "$scratch/prefix" -name peal.pc)")
# shellcheck disable=SC2046
PKG_CONFIG_PATH=$pc cc "$project/in_c.c" -o "$scratch/by_pkg_config" $(PKG_CONFIG_PATH=$pc pkg-config --cflags --libs peal) -Wl,-rpath,"$(dirname "$pc")"
"$scratch/prefix/bin/peal-run" -n 2 -- "$scratch/by_pkg_config"
# libpeal.a, but what it needs shared: for --static all the way down Debian lacks some .a files (libudev's).
needed=$(PKG_CONFIG_PATH=$pc pkg-config --print-requires-private peal)
# shellcheck disable=SC2046,SC2086
cc "$project/in_c.c" -o "$scratch/static_by_pkg_config" $(PKG_CONFIG_PATH=$pc pkg-config --cflags peal) \
  "$(dirname "$pc")/libpeal.a" $(pkg-config --libs $needed) -pthread -lstdc++ -lm
"$scratch/prefix/bin/peal-run" -n 2 -- "$scratch/static_by_pkg_config"

# What is installed is whole: each header finds all that it includes.
find "$scratch/prefix/include/peal" -name '*.h' | while read -r header; do
  c++ -std=c++20 -fsyntax-only -I"$scratch/prefix/include" -I"$scratch/prefix/include/peal" -include "$header" -x c++ /dev/null
done
cc -std=c11 -fsyntax-only -Wall -Wextra -Werror -include "$scratch/prefix/include/peal/peal.h" -x c /dev/null

"$scratch/prefix/bin/all_reduce_perf" --ranks 2 -b 8 -e 8 | grep -q 'Out of bounds values : 0 OK'

# The shared library exports Peal and nothing of the libraries that it is made with.
strangers=$(nm -DC --defined-only "$(find "$scratch/prefix" -name 'libpeal.so.*.*')" | grep -E ' [TW] ' | grep -vE ' (peal|typeinfo|vtable|guard|std::|void std::|bool std::|non-virtual)' || true)
if [[ -n $strangers ]]; then
  echo "exported, but not Peal's:" >&2
  head <<<"$strangers" >&2
  exit 1
fi
echo "an outside project builds and runs: static, shared, C, pkg-config"
