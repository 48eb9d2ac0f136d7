# Filled by cmake --install; see docs/getting_started.md.
