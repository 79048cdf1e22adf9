#pragma once
// What the commands share: exit codes, where a ledger is, how a track is named.

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/ledger/ledger.h"
#include "coordinator/service/resume.h"
#include "kernels/operation.h"
#include "schema/result.h"

namespace pawl {

// Exit codes of pawl; docs/commands.md.
inline constexpr int kExitDone = 0;
inline constexpr int kExitWrong = 1;  // the search or verify found something wrong
inline constexpr int kExitUsage = 2;
inline constexpr int kExitCannotRun = 3;
inline constexpr int kExitInterrupted = 130;  // Ctrl-C; run again to go on

// Prints "pawl: message" to stderr, as one line whatever it quotes, and gives the code back.
int Fail(const std::string& message, int code = kExitCannotRun);
// The same where the command goes on: what is worth knowing at its end.
void Warn(const std::string& message);

// For options: an empty text is not the same as none.
CLI::Validator NotEmpty();
// For numbers from 0, in digits alone.
CLI::Validator WholeNumber();
// For numbers that count from 1, up to what an id holds.
CLI::Validator AtLeastOne();

void AddLedgerOption(CLI::App& command, std::string& folder);
void AddKernelsOption(CLI::App& command, std::string& folder);
// Of a coordinator that listens for other hosts.
void AddKeysOption(CLI::App& command, std::string& folder);
void AddDeviceOption(CLI::App& command, std::string& device);
// Of the workers that a command starts.
void AddStateOption(CLI::App& command, std::string& folder);

// What the workers that a command starts do with a GPU's clocks. A trial changes no machine:
// nothing, unless it is told.
struct ClockOptions {
  std::string clocks = "observe";
  std::string clock_mhz = "base";
  std::uint32_t memory_clock_mhz = 0;  // 0: left alone

  bool pins() const { return clocks != "observe"; }
  std::vector<std::string> ForWorker() const;  // pawl-worker's options
};
void AddClockOptions(CLI::App& command, ClockOptions& options);

// --ledger, else $PAWL_LEDGER, else the only ledger below ./ledgers. Errors name the ones there
// are.
Result<std::string> FindLedger(const std::string& given);

// Opens it for reading and folds its tracks.
struct OpenedLedger {
  std::unique_ptr<Ledger> ledger;
  std::map<TrackId, Track> tracks;
  JobBoard board;
};
Result<OpenedLedger> ReadLedger(const std::string& given);

// A track by number, or by the start of its label where that is unique. `given` empty: the only
// track.
Result<TrackId> FindTrack(const std::map<TrackId, Track>& tracks, const std::string& given);

// --kernels, else $PAWL_KERNELS, else ./kernels, else beside the program.
Result<std::string> FindKernels(const std::string& given);
// The package `name` there. Errors: LoadOperation's; where there is none, also how another folder
// is named.
Result<Operation> LoadPackage(const std::string& kernels, const std::string& name);

// Each registers its subcommand; its exit code lands in `code`.
void AddRun(CLI::App& app, int& code);
void AddLog(CLI::App& app, int& code);
void AddShow(CLI::App& app, int& code);
void AddStatus(CLI::App& app, int& code);
void AddVerify(CLI::App& app, int& code);
void AddConfirm(CLI::App& app, int& code);
void AddDevices(CLI::App& app, int& code);
void AddAudit(CLI::App& app, int& code);
void AddMeasure(CLI::App& app, int& code);
void AddCapture(CLI::App& app, int& code);
void AddBench(CLI::App& app, int& code);
void AddKeys(CLI::App& app, int& code);
void AddServe(CLI::App& app, int& code);
void AddSubmit(CLI::App& app, int& code);
void AddPause(CLI::App& app, int& code);
void AddResume(CLI::App& app, int& code);
void AddCancel(CLI::App& app, int& code);
void AddWatch(CLI::App& app, int& code);

}  // namespace pawl
