#!/usr/bin/env bash
# Installs what packages.txt lists and is missing: install_packages.sh [build|all]. Says what, asks nothing.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
wanted=${1:-all}

packages() {
  local part=build
  while read -r word rest; do
    case "$word $rest" in
      "# -- to test"*) part=test ;;
    esac
    [[ -z $word || $word == \#* ]] && continue
    [[ $wanted == all || $part == "$wanted" ]] && echo "$word"
  done <"$here/packages.txt"
}

missing=()
for package in $(packages); do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
if [[ ${#missing[@]} -eq 0 ]]; then
  echo "packages: nothing is missing"
  exit 0
fi
echo "packages: installing ${missing[*]}"
as_root=()
if [[ $(id -u) -ne 0 ]]; then
  command -v sudo >/dev/null || { echo "packages: run as root, or install sudo, or install them yourself" >&2; exit 1; }
  as_root=(sudo)
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { "${as_root[@]}" apt-get update && DEBIAN_FRONTEND=noninteractive "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
  tail -n 30 "$log" >&2
  echo "packages: apt-get failed (above)" >&2
  exit 1
fi
