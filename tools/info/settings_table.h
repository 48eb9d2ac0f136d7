// Every setting with its value and where it came from.
#pragma once

namespace peal::info {

enum class TableForm { kText, kJson, kMarkdown };  // kMarkdown: docs/settings.md, defaults alone

// Prints the table, and misspelt PEAL_* variables on standard error; returns the exit code.
int show_settings(TableForm form);

}  // namespace peal::info
