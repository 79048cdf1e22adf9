// kill -9 of coordinator, worker or runner in the middle of running searches: what was acknowledged
// stays, nothing is decided twice, and the decisions are those of an undisturbed run.

#include <gtest/gtest.h>
#include <signal.h>

#include <map>
#include <set>

#include "coordinator/ledger/ledger.h"
#include "tests/e2e/pawl.h"

namespace pawl::test {
namespace {

std::string Job(int tracks, int generations, int in_flight = 1) {
  std::string text =
      "name = \"kill\"\noperation = \"gemm\"\nbackend = \"cuda\"\nstructure = \"clblast\"\n"
      "shape = { m = 4096, n = 4096, k = 4096 }\nconfirm = false\n"
      "devices = [\"replay:" +
      Source("jobs/replay/data/gemm.RTX_2080_Ti.csv.gz") +
      "?seed=9&jitter=0.004\"]\n[policy]\nname = \"field_note\"\n"
      "[proposer]\nname = \"random\"\n[budget]\ngenerations = " +
      std::to_string(generations) + "\n";
  text = "in_flight = " + std::to_string(in_flight) + "\n" + text;
  for (int track = 1; track <= tracks; ++track) {
    text += "[[track]]\nlabel = \"t" + std::to_string(track) +
            "\"\nseed = " + std::to_string(track) + "\n";
  }
  return text;
}

std::vector<std::string> RunArguments(const TempFolder& folder, const std::string& ledger,
                                      int workers) {
  return {Program("pawl"), "run",     folder / "job.toml", "--json",    "--ledger",
          ledger,          "--state", ledger + "-state",   "--workers", std::to_string(workers)};
}

// Everything that was decided, by track and generation. Fails on a generation decided twice.
std::map<std::pair<std::uint32_t, std::uint32_t>, std::string> Decisions(
    const std::string& folder) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::string> decisions;
  auto ledger = Ledger::Open(folder, Ledger::Mode::kRead);
  CHECK(ledger.has_value(), ledger.error().message);
  std::map<std::pair<std::uint32_t, std::uint32_t>, Configuration> candidates;
  const Status scanned = (*ledger)->Scan(Seq{1}, [&](const Event& event) {
    if (const auto* proposed = std::get_if<Proposed>(&event.body)) {
      candidates[{event.track.value, proposed->generation.value}] = proposed->candidate;
    }
    if (const auto* decided = std::get_if<Decided>(&event.body);
        decided != nullptr && !decided->again) {
      const auto key = std::make_pair(event.track.value, decided->generation.value);
      EXPECT_FALSE(decisions.contains(key)) << "generation " << key.second << " decided twice";
      decisions[key] = candidates[key].Text() + " " + std::string(Name(decided->decision.verdict)) +
                       " " + std::to_string(decided->decision.ratio.value_or(0));
    }
    return true;
  });
  EXPECT_TRUE(scanned.has_value());
  return decisions;
}

std::set<std::string> ReportsIn(const std::string& folder) {
  std::set<std::string> digests;
  auto ledger = Ledger::Open(folder, Ledger::Mode::kRead);
  CHECK(ledger.has_value(), ledger.error().message);
  const Status scanned = (*ledger)->Scan(Seq{1}, [&](const Event& event) {
    if (const auto* measured = std::get_if<Measured>(&event.body))
      digests.insert(measured->digest.Hex());
    return true;
  });
  EXPECT_TRUE(scanned.has_value());
  return digests;
}

// Digests of the reports that workers saw acknowledged, from their logs.
std::set<std::string> AcknowledgedIn(const std::string& state, int workers) {
  std::set<std::string> digests;
  for (int worker = 0; worker < workers; ++worker) {
    const std::string log = ReadFile(state + "/worker-" + std::to_string(worker) + ".log");
    static const std::string kMark = "acknowledged report=";
    for (std::size_t at = log.find(kMark); at != std::string::npos; at = log.find(kMark, at + 1)) {
      digests.insert(log.substr(at + kMark.size(), 64));
    }
  }
  return digests;
}

struct Victims {
  std::vector<pid_t> workers;
  std::vector<pid_t> runners;
};

Victims VictimsOf(pid_t coordinator) {
  Victims victims;
  for (const pid_t pid : ChildrenOf(coordinator)) {
    const std::string line = CommandLineOf(pid);
    if (line.find("--runner") != std::string::npos) {
      victims.runners.push_back(pid);
    } else if (line.find("pawl-worker") != std::string::npos) {
      victims.workers.push_back(pid);
    }
  }
  return victims;
}

// `in_flight`: above 1, so many workers are at each track, and which decisions there are depends on
// who is faster: `pawl verify` says whether they follow.
void KillAndCompare(int tracks, int generations, int kills, int in_flight = 1) {
  TempFolder folder;
  WriteFile(folder / "job.toml", Job(tracks, generations, in_flight));
  const int workers = tracks * in_flight;
  if (in_flight == 1) {
    Process undisturbed(RunArguments(folder, folder / "undisturbed", tracks), folder / "stderr",
                        {"PAWL_KERNELS=" + Source("kernels")});
    while (undisturbed.ReadLine(60'000)) {
    }
    ASSERT_EQ(undisturbed.Wait(60'000), 0) << ReadFile(folder / "stderr");
  }
  std::map<std::string, int> killed;
  std::uint64_t random = 88172645463325252ULL;
  const auto next = [&random](std::uint64_t below) {  // xorshift64
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    return random % below;
  };
  // The kills are spread over the whole search: one after about so many further decisions.
  const std::uint64_t spacing = static_cast<std::uint64_t>(tracks * generations) * 8 / 10 / kills;
  int done = 0;
  bool finished = false;
  while (!finished) {
    Process run(RunArguments(folder, folder / "killed", workers), folder / "stderr",
                {"PAWL_KERNELS=" + Source("kernels")});
    bool coordinator_killed = false;
    while (!coordinator_killed) {
      // Each line is a decision, so what follows is a moment inside a running search.
      const std::uint64_t lines = 1 + next(std::max<std::uint64_t>(2 * spacing, 2) - 1);
      std::uint64_t seen = 0;
      while (seen < lines && run.ReadLine(60'000)) ++seen;
      if (run.AtEnd()) break;
      ASSERT_EQ(seen, lines) << "no decision for a minute: " << ReadFile(folder / "stderr");
      if (done >= kills) continue;
      const Victims victims = VictimsOf(run.pid());
      switch (done % 3) {
        case 0:
          run.Signal(SIGKILL);
          coordinator_killed = true;
          ++killed["coordinator"];
          ++done;
          break;
        case 1:
          if (victims.workers.empty()) break;
          // One that went just now is no kill.
          if (::kill(victims.workers[next(victims.workers.size())], SIGKILL) != 0) break;
          ++killed["worker"];
          ++done;
          break;
        default:
          if (victims.runners.empty()) break;
          if (::kill(victims.runners[next(victims.runners.size())], SIGKILL) != 0) break;
          ++killed["runner"];
          ++done;
          break;
      }
    }
    if (!coordinator_killed) {
      ASSERT_EQ(run.Wait(60'000), 0) << ReadFile(folder / "stderr");
      finished = true;
    }
  }
  EXPECT_EQ(done, kills) << "the search ended before every kill fell inside it";
  std::printf("killed: coordinator %d, worker %d, runner %d\n", killed["coordinator"],
              killed["worker"], killed["runner"]);

  const auto decisions = Decisions(folder / "killed");
  if (in_flight == 1) {
    EXPECT_EQ(decisions, Decisions(folder / "undisturbed"));
  } else {
    EXPECT_EQ(decisions.size(), static_cast<std::size_t>(tracks * generations));
    std::set<std::string> candidates;
    for (const auto& [key, text] : decisions) candidates.insert(text.substr(0, text.rfind(' ')));
    EXPECT_EQ(candidates.size(), decisions.size()) << "a candidate was tried twice";
  }
  const std::set<std::string> reports = ReportsIn(folder / "killed");
  const std::set<std::string> acknowledged = AcknowledgedIn(folder / "killed-state", workers);
  EXPECT_GT(acknowledged.size(), static_cast<std::size_t>(tracks * generations) / 2);
  for (const std::string& report : acknowledged) {
    EXPECT_TRUE(reports.contains(report)) << "acknowledged and lost: " << report;
  }
  const Finished verify = Pawl({"verify", "--ledger", folder / "killed"}, 120'000);
  EXPECT_EQ(verify.code, 0) << verify.out << verify.err;
}

TEST(Kill, OneTrackEndsWithTheDecisionsOfAnUndisturbedRun) { KillAndCompare(1, 2'000, 60); }

TEST(Kill, ThreeTracksLoseNothingAcknowledgedIn140Kills) { KillAndCompare(3, 2'000, 140); }

TEST(Kill, OneTrackWithFourCandidatesInFlightIsVerifiedAfter40Kills) {
  KillAndCompare(1, 1'000, 40, 4);
}

}  // namespace
}  // namespace pawl::test
