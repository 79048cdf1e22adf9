// A service with a real worker over a replay: what a full disk may do to it, and what verify finds.

#include "coordinator/service/service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rocksdb/env.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "coordinator/search/job.h"
#include "coordinator/service/resume.h"
#include "coordinator/service/verify.h"
#include "coordinator/service/worker_process.h"
#include "schema/codec.h"
#include "tests/ledger/faulty_file_system.h"
#include "tests/support/process.h"
#include "worker/link.h"

namespace pawl {
namespace {

using testing::FaultyFileSystem;
using ::testing::HasSubstr;

constexpr std::uint32_t kGenerations = 40;
constexpr int kMostTurns = 5'000;

ServiceOptions GemmSearch(const std::string& folder, rocksdb::Env* env) {
  const std::string source = test::SourceFolder();
  auto job = ParseJob(
      "operation = \"gemm\"\nbackend = \"cuda\"\nstructure = \"clblast\"\nseed = 3\n"
      "shape = { m = 4096, n = 4096, k = 4096 }\n"
      "devices = [\"replay:" +
          source +
          "/jobs/replay/data/gemm.RTX_2080_Ti.csv.gz\", \"another model\"]\n"
          "[proposer]\nname = \"random\"\n[budget]\ngenerations = " +
          std::to_string(kGenerations) + "\n",
      "gemm.toml");
  CHECK(job, job.error().message);
  ServiceOptions options;
  options.ledger_folder = folder;
  options.kernels_root = source + "/kernels";
  options.ledger.env = env;
  options.job = *std::move(job);
  options.lost_ms = 5'000;
  return options;
}

class ServiceTest : public ::testing::Test {
 protected:
  void Open(const std::string& name) {
    ledger_ = folder_ / name;
    auto service = Service::Open(GemmSearch(ledger_, env_.get()));
    ASSERT_TRUE(service) << service.error().message;
    service_ = *std::move(service);
    decided_ = 0;
    service_->on_event = [this](const Event& event) {
      decided_ += std::holds_alternative<Decided>(event.body) ? 1 : 0;
    };
    worker_ = std::make_unique<WorkerProcess>(
        WorkerCommand{test::BinFolder() + "/pawl-worker", service_->endpoint(), device_, 0,
                      folder_ / "state", folder_ / "worker.log"});
    const Status started = worker_->Start();
    ASSERT_TRUE(started) << started.error().message;
  }

  // Turns until `enough`; the errors that it met.
  std::vector<std::string> TurnUntil(const std::function<bool()>& enough) {
    std::vector<std::string> errors;
    for (int turn = 0; turn < kMostTurns && !enough(); ++turn) {
      const Status turned = service_->Turn(10);
      if (!turned) errors.push_back(turned.error().message);
      if (!turned && turned.error().advice != Advice::kRetry) return errors;
    }
    EXPECT_TRUE(enough()) << decided_ << " generations decided in " << kMostTurns << " turns";
    return errors;
  }

  // What a worker on another model, which says nothing else, is told to its HELLO.
  Message AnswerTo(const std::string& toolchain) {
    auto link = ConnectLink(service_->endpoint());
    CHECK(link, link.error().message);
    odd_ = *std::move(link);
    Hello hello;
    hello.worker = WorkerId("odd");
    hello.boot = BootId("boot");
    hello.version = PAWL_VERSION;
    hello.host = "here";
    hello.device.kind = "replay";
    hello.device.model = "another model";
    hello.device.toolchain = toolchain;
    hello.device.instruments = {Instrument::kKernelTime, Instrument::kEventSpan,
                                Instrument::kGraphTime};
    hello.device.needs_source = false;
    bool sent = false;
    std::vector<Result<Message>> answers;
    EXPECT_THAT(TurnUntil([&] {
                  sent = sent || odd_->Send(hello);
                  if (answers.empty()) answers = odd_->Receive();
                  return !answers.empty();
                }),
                ::testing::IsEmpty());
    CHECK(!answers.empty() && answers[0]);
    return *answers[0];
  }

  void Leave() {
    odd_.reset();
    worker_.reset();
    service_.reset();
  }

  std::vector<Event> Events() {
    auto ledger = Ledger::Open(ledger_, Ledger::Mode::kRead);
    EXPECT_TRUE(ledger) << ledger.error().message;
    std::vector<Event> events;
    const Status read = (*ledger)->Scan(Seq(1), [&events](const Event& event) {
      events.push_back(event);
      return true;
    });
    EXPECT_TRUE(read) << read.error().message;
    return events;
  }

  std::vector<std::string> Decisions() {
    std::vector<std::string> all;
    for (const Event& event : Events()) {
      const auto* decided = std::get_if<Decided>(&event.body);
      if (decided != nullptr) {
        all.push_back(std::to_string(decided->generation.value) + " " + decided->decision.detail);
      }
    }
    return all;
  }

  std::vector<std::string> Problems(const std::string& folder) {
    auto ledger = Ledger::Open(folder, Ledger::Mode::kRead);
    EXPECT_TRUE(ledger) << ledger.error().message;
    auto verified = VerifyLedger(**ledger, [](Seq, Seq) {});
    EXPECT_TRUE(verified) << verified.error().message;
    return verified->problems;
  }

  test::TempFolder folder_;
  const std::string device_ =
      std::string("replay:") + test::SourceFolder() + "/jobs/replay/data/gemm.RTX_2080_Ti.csv.gz";
  const std::shared_ptr<FaultyFileSystem> disk_ = std::make_shared<FaultyFileSystem>();
  const std::unique_ptr<rocksdb::Env> env_ = rocksdb::NewCompositeEnv(disk_);
  std::string ledger_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<WorkerProcess> worker_;
  std::unique_ptr<Link> odd_;
  std::uint32_t decided_ = 0;
};

TEST_F(ServiceTest, AFullDiskDelaysASearchAndChangesNothingInIt) {
  Open("undisturbed");
  EXPECT_THAT(TurnUntil([this] { return service_->Done(); }), ::testing::IsEmpty());
  Leave();
  const std::vector<std::string> undisturbed = Decisions();
  EXPECT_EQ(undisturbed.size(), kGenerations);

  Open("full");
  TurnUntil([this] { return decided_ >= 7; });
  disk_->SetFreeBytes(12 << 20);
  int refused = 0;
  const std::vector<std::string> errors = TurnUntil([&refused] { return ++refused > 120; });
  EXPECT_GE(errors.size(), 100u);
  EXPECT_THAT(errors, ::testing::Each(HasSubstr("12 MB free")));
  const LedgerHead head = service_->ledger().head();
  const Status closed = service_->Close();
  ASSERT_FALSE(closed) << "a snapshot would hold what the ledger does not";
  EXPECT_EQ(service_->ledger().head(), head);
  disk_->SetFreeBytes(1ull << 40);
  EXPECT_THAT(TurnUntil([this] { return service_->Done(); }), ::testing::IsEmpty());
  const Status again = service_->Close();
  EXPECT_TRUE(again) << again.error().message;
  Leave();
  EXPECT_EQ(Decisions(), undisturbed);
  EXPECT_THAT(Problems(ledger_), ::testing::IsEmpty());
}

TEST_F(ServiceTest, ASearchLeftOnAFullDiskGoesOnFromWhatWasSynced) {
  Open("left");
  TurnUntil([this] { return decided_ >= 7; });
  disk_->SetFreeBytes(12 << 20);
  int refused = 0;
  TurnUntil([&refused] { return ++refused > 20; });
  const Status drained = service_->Drain();
  EXPECT_FALSE(drained);
  EXPECT_FALSE(service_->Done());
  EXPECT_FALSE(service_->Close());
  Leave();
  disk_->SetFreeBytes(1ull << 40);
  EXPECT_THAT(Problems(ledger_), ::testing::IsEmpty());
  Open("left");
  TurnUntil([this] { return service_->Done(); });
  Leave();
  EXPECT_EQ(Decisions().size(), kGenerations);
  EXPECT_THAT(Problems(ledger_), ::testing::IsEmpty());
}

TEST_F(ServiceTest, AWorkerWhoseTrackMayNotGoOnIsRefusedAndTheOthersSearchOn) {
  Open("odd");
  TurnUntil([this] { return decided_ >= 2; });
  EXPECT_TRUE(std::holds_alternative<Welcome>(AnswerTo("driver 1")));
  Leave();
  Open("odd");
  TurnUntil([this] { return decided_ >= 2; });
  const Message answer = AnswerTo("driver 2");
  ASSERT_TRUE(std::holds_alternative<Refuse>(answer)) << Name(answer);
  EXPECT_THAT(std::get<Refuse>(answer).why, HasSubstr("toolchain was 'driver 1'"));
  EXPECT_THAT(service_->refusals(), ::testing::ElementsAre(HasSubstr("cannot resume track 2")));
  EXPECT_THAT(TurnUntil([this] { return decided_ >= 5; }), ::testing::IsEmpty());
}

TEST_F(ServiceTest, AStopWhileItWaitsForMessagesLosesNoWorker) {
  Open("stopped");
  TurnUntil([this] { return service_->Done(); });
  worker_.reset();
  EXPECT_TRUE(std::holds_alternative<Welcome>(AnswerTo("driver 1")));
  std::vector<std::string> notes;
  service_->on_note = [&notes](const std::string& note) { notes.push_back(note); };
  constexpr std::int64_t kStopMs = 6'000;  // longer than a worker may be silent
  const std::int64_t before = Service::NowMs();
  const pid_t stopper = ::fork();
  ASSERT_GE(stopper, 0);
  if (stopper == 0) {
    const pid_t parent = ::getppid();
    ::kill(parent, SIGSTOP);
    ::usleep(kStopMs * 1'000);
    ::kill(parent, SIGCONT);
    ::_exit(0);
  }
  EXPECT_THAT(TurnUntil([before] { return Service::NowMs() - before > kStopMs; }),
              ::testing::IsEmpty());
  ::waitpid(stopper, nullptr, 0);
  EXPECT_TRUE(service_->Turn(10));
  EXPECT_THAT(notes, ::testing::Not(::testing::Contains(HasSubstr("odd lost"))));
}

// A ledger made anew, its chain whole, of a search's events as somebody would like them.
class Verify : public ServiceTest {
 protected:
  void Search() {
    Open("honest");
    TurnUntil([this] { return service_->Done(); });
    ASSERT_TRUE(service_->Close());
    Leave();
    ASSERT_THAT(Problems(ledger_), ::testing::IsEmpty());
    events_ = Events();
  }

  std::vector<std::string> ProblemsWith(const std::string& name,
                                        const std::function<void(Event&)>& alter) {
    {
      auto ledger = Ledger::Open(folder_ / name, Ledger::Mode::kWrite);
      EXPECT_TRUE(ledger) << ledger.error().message;
      auto operation = LoadOperation(test::SourceFolder() + "/kernels/gemm");
      EXPECT_TRUE(operation) << operation.error().message;
      std::vector<Event> altered;
      for (Event event : events_) {
        if (event.track == TrackId{}) continue;
        if (const auto* opened = std::get_if<TrackOpened>(&event.body)) {
          TrackSpec spec = opened->spec;
          const Status kept = KeepPackage(**ledger, *operation, spec);
          EXPECT_TRUE(kept) << kept.error().message;
        }
        alter(event);
        altered.push_back(std::move(event));
      }
      const auto head = (*ledger)->Append(altered);
      EXPECT_TRUE(head) << head.error().message;
    }
    return Problems(folder_ / name);
  }

  std::vector<Event> events_;
};

TEST_F(Verify, NamesWhatItsReportsOrItsProposerDoNotGive) {
  Search();
  EXPECT_THAT(ProblemsWith("same", [](Event&) {}), ::testing::IsEmpty());
  const auto flipped = ProblemsWith("flipped", [](Event& event) {
    auto* decided = std::get_if<Decided>(&event.body);
    if (decided == nullptr || decided->generation != Generation(5)) return;
    decided->decision.detail += " indeed";
  });
  ASSERT_EQ(flipped.size(), 1u);
  EXPECT_THAT(flipped[0], HasSubstr("generation 5 was decided"));
  const auto kept = ProblemsWith("kept", [](Event& event) {
    auto* decided = std::get_if<Decided>(&event.body);
    if (decided == nullptr || decided->generation != Generation(kGenerations)) return;
    const bool keep = decided->decision.verdict == Verdict::kKeep;
    decided->decision.verdict = keep ? Verdict::kReject : Verdict::kKeep;
    decided->decision.reason = keep ? Reason::kNotFaster : Reason::kFaster;
  });
  ASSERT_FALSE(kept.empty());
  EXPECT_THAT(kept[0], HasSubstr("generation " + std::to_string(kGenerations) + " was decided"));
  const auto invented = ProblemsWith("invented", [](Event& event) {
    auto* proposed = std::get_if<Proposed>(&event.body);
    if (proposed == nullptr || proposed->generation != Generation(kGenerations)) return;
    ASSERT_FALSE(proposed->changes.empty());
    proposed->changes.back().repair = !proposed->changes.back().repair;
  });
  ASSERT_EQ(invented.size(), 1u);
  EXPECT_THAT(invented[0], HasSubstr("which changes were repairs otherwise than the proposer"));
  const auto digest = ProblemsWith("digest", [](Event& event) {
    auto* measured = std::get_if<Measured>(&event.body);
    if (measured != nullptr && measured->report.generation == Generation(3) &&
        measured->report.kind == OrderKind::kMeasure) {
      measured->report.toolchain += "!";
    }
  });
  ASSERT_EQ(digest.size(), 1u);
  EXPECT_THAT(digest[0], HasSubstr("report of generation 3 has digest"));
  const auto order = ProblemsWith("order", [](Event& event) {
    auto* granted = std::get_if<Granted>(&event.body);
    if (granted != nullptr && granted->generation == Generation(3) &&
        granted->kind == OrderKind::kMeasure) {
      granted->order = Sha256("another");
    }
  });
  ASSERT_EQ(order.size(), 1u);
  EXPECT_THAT(order[0], HasSubstr("report of generation 3 answers order"));
  const auto rounds = ProblemsWith("rounds", [](Event& event) {
    auto* measured = std::get_if<Measured>(&event.body);
    if (measured != nullptr && measured->report.generation == Generation(kGenerations) &&
        measured->report.kind == OrderKind::kMeasure) {
      measured->report.rounds.at(0).visits.pop_back();
      measured->digest = Sha256(EncodeReport(measured->report));
    }
  });
  ASSERT_FALSE(rounds.empty());
  EXPECT_THAT(rounds[0], HasSubstr("round 1 has 2 visits of 3"));
  const auto gain = ProblemsWith("gain", [](Event& event) {
    auto* confirmed = std::get_if<Confirmed>(&event.body);
    if (confirmed != nullptr) confirmed->gain += 0.01;
  });
  ASSERT_EQ(gain.size(), 1u);
  EXPECT_THAT(gain[0], HasSubstr("confirmation 1 has a gain of"));
  const auto closed = ProblemsWith("closed", [](Event& event) {
    auto* end = std::get_if<TrackClosed>(&event.body);
    if (end != nullptr) end->why = "tired";
  });
  ASSERT_EQ(closed.size(), 1u);
  EXPECT_THAT(closed[0],
              HasSubstr("the track is closed (tired), its events give generation limit"));
  const auto told = ProblemsWith("told", [](Event& event) {
    auto* proposed = std::get_if<Proposed>(&event.body);
    if (proposed != nullptr && proposed->generation == Generation(2)) {
      proposed->hypothesis = "because";
    }
  });
  ASSERT_EQ(told.size(), 1u);
  EXPECT_THAT(told[0], HasSubstr("generation 2 is"));
}

}  // namespace
}  // namespace pawl
