// peal-info: what this build is and has, what the settings are, and why an algorithm is chosen.
#include <CLI/CLI.hpp>

#include "base/version.h"
#include "tools/command_line.h"
#include "tools/info/facts.h"
#include "tools/info/plans.h"
#include "tools/info/settings_table.h"

namespace peal::info {
namespace {

struct Asked {
  bool env = false, markdown = false, as_json = false;
  std::vector<std::string> explain, plan;
  ExplainedCall call;
};

void add_options(CLI::App& app, Asked* asked) {
  CLI::Option* env = app.add_flag("--env", asked->env, "every setting: effective value, and where it came from");
  app.add_flag("--markdown", asked->markdown, "with --env: the table of docs/settings.md")->needs(env);
  CLI::Option* explain = app.add_option("--explain", asked->explain,
                                        "COLLECTIVE SIZE: what each algorithm would take, e.g. all_reduce 1MiB")
                             ->expected(2);
  app.add_option("--ranks", asked->call.ranks, "with --explain: ranks (4)")->check(CLI::Range(1, 4096))->needs(explain);
  app.add_option("--transport", asked->call.transport, "with --explain: what joins the ranks (shm)")->needs(explain);
  CLI::Option* plan =
      app.add_option("--plan", asked->plan, "ALGORITHM COLLECTIVE RANKS: every rank's steps, e.g. ring all_reduce 8")
          ->expected(3);
  env->excludes(explain)->excludes(plan);
  explain->excludes(plan);
  app.add_flag("--json", asked->as_json, "JSON on standard output");
  app.set_version_flag("--version", std::string(describe_build()));
}

int show(Asked asked) {
  if (asked.markdown) return show_settings(TableForm::kMarkdown);
  if (asked.env) return show_settings(asked.as_json ? TableForm::kJson : TableForm::kText);
  if (!asked.explain.empty()) {
    asked.call.collective = asked.explain[0];
    asked.call.size = asked.explain[1];
    return show_explanation(asked.call, asked.as_json);
  }
  if (!asked.plan.empty()) return show_plan(asked.plan[0], asked.plan[1], asked.plan[2], asked.as_json);
  return show_facts(asked.as_json);
}

}  // namespace
}  // namespace peal::info

int main(int argc, char** argv) {
  using namespace peal::info;
  CLI::App app("What this build of Peal is and has; its settings; its plans.");
  Asked asked;
  add_options(app, &asked);
  return peal::run_command(app, "peal-info", argc, argv, [&] { return show(asked); });
}
