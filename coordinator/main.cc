// pawl: wiring only.

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <exception>

#include "coordinator/commands/command.h"
#include "coordinator/commands/output.h"
#include "coordinator/commands/usage.h"

int main(int argc, char** argv) {
  pawl::HoldStandardStreams();
  spdlog::set_default_logger(spdlog::stderr_color_st("pawl"));
  spdlog::set_level(spdlog::level::warn);
  CLI::App app("searches kernel variants and lets a kernel only get faster", "pawl");
  app.set_version_flag("--version", "pawl " PAWL_VERSION);
  app.require_subcommand(1);
  app.footer(
      "exit codes: 0 done, 1 the search or verify found something wrong, 2 usage, 3 could not run, "
      "130 interrupted");
  int code = pawl::kExitDone;
  pawl::AddRun(app, code);
  pawl::AddLog(app, code);
  pawl::AddShow(app, code);
  pawl::AddStatus(app, code);
  pawl::AddVerify(app, code);
  pawl::AddConfirm(app, code);
  pawl::AddDevices(app, code);
  pawl::AddAudit(app, code);
  pawl::AddMeasure(app, code);
  pawl::AddCapture(app, code);
  pawl::AddBench(app, code);
  pawl::AddKeys(app, code);
  pawl::AddServe(app, code);
  pawl::AddSubmit(app, code);
  pawl::AddPause(app, code);
  pawl::AddResume(app, code);
  pawl::AddCancel(app, code);
  pawl::AddWatch(app, code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) {
      return pawl::Fail(pawl::UsageText(app, error), pawl::kExitUsage);
    }
    app.exit(error);  // --help, --version
  } catch (const std::exception& error) {
    return pawl::Fail(std::string("internal error: ") + error.what());
  }
  return pawl::FlushOutput(code);
}
