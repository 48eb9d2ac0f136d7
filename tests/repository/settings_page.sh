#!/usr/bin/env bash
# settings_page.sh PEAL_INFO ROOT: docs/settings.md is what peal-info prints.
set -euo pipefail
if ! diff <(env -i "$1" --env --markdown) "$2/docs/settings.md"; then
  echo "docs/settings.md differs from base/settings.def: peal-info --env --markdown > docs/settings.md" >&2
  exit 1
fi
echo "docs/settings.md is up to date"
