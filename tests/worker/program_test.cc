// pawl-worker as a process, with a coordinator that is only a socket: what a person and a peer see
// of it.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <zmq.hpp>

#include "schema/codec.h"
#include "tests/support/places.h"

namespace pawl {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kWaitMs = 50'000;
const LedgerId kLedger("0123456789abcdef0123456789abcdef");

std::string ReadFile(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class Worker {
 public:
  Worker(std::vector<std::string> arguments, const std::string& log) : log_(log) {
    arguments.insert(arguments.begin(), test::BinFolder() + "/pawl-worker");
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    pid_ = fork();
    CHECK(pid_ >= 0);
    if (pid_ == 0) {
      const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
      dup2(out, STDOUT_FILENO);
      dup2(out, STDERR_FILENO);
      execv(argv[0], argv.data());
      _exit(127);
    }
  }
  ~Worker() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  void Signal(int number) { kill(pid_, number); }
  // Its exit code, or minus the signal that ended it.
  int Wait() {
    int status = 0;
    CHECK(waitpid(pid_, &status, 0) == pid_);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  std::string Output() const { return ReadFile(log_); }

 private:
  pid_t pid_;
  std::string log_;
};

class WorkerProgram : public ::testing::Test {
 protected:
  WorkerProgram() { Listen(); }

  void Listen() {
    router_ = zmq::socket_t(context_, zmq::socket_type::router);
    router_.set(zmq::sockopt::linger, 0);
    router_.set(zmq::sockopt::rcvtimeo, kWaitMs);
    router_.bind(endpoint_);
  }

  std::vector<std::string> Arguments(const std::string& device = "") const {
    const std::string gemm =
        "replay:" + test::SourceFolder() + "/jobs/replay/data/gemm.RTX_2080_Ti.csv.gz";
    return {"--connect", endpoint_,         "--device", device.empty() ? gemm : device,
            "--state",   folder_ + "/state"};
  }
  std::string Log() const { return folder_ + "/log"; }

  // The next message other than a beat.
  Message Receive() {
    while (true) {
      zmq::message_t frame;
      CHECK(router_.recv(peer_).has_value(), "no message; the worker said:", ReadFile(Log()));
      CHECK(router_.recv(frame).has_value());
      Result<Message> message = DecodeMessage(frame.to_string_view());
      CHECK(message.has_value(), message.error().message);
      if (!std::holds_alternative<Beat>(*message)) return std::move(*message);
    }
  }
  template <typename Body>
  Body Expect() {
    Message message = Receive();
    Body* const body = std::get_if<Body>(&message);
    CHECK(body != nullptr, "got", Name(message), "; the worker said:", ReadFile(Log()));
    return std::move(*body);
  }
  void Say(const Message& message) {
    const std::string frame = EncodeMessage(message);
    CHECK(router_.send(zmq::buffer(peer_.to_string_view()), zmq::send_flags::sndmore).has_value());
    CHECK(router_.send(zmq::buffer(frame)).has_value());
  }
  void Greet() {
    Expect<Hello>();
    Say(Welcome{kLedger, Epoch(1), 5'000, 20'000});
  }

  static Order AnOrder(std::uint32_t generation) {
    static const char* const kKnobs[] = {"MWG",   "NWG", "MDIMC", "NDIMC", "MDIMA",
                                         "NDIMB", "VWM", "VWN",   "SA",    "SB"};
    Configuration configuration;
    for (std::size_t i = 0; i < std::size(kKnobs); ++i) {
      const std::int64_t values[] = {16, 16, 8, 8, 8, 8, 1, 1, 0, 0};
      configuration.settings.push_back({kKnobs[i], values[i]});
    }
    Order order;
    order.track = TrackId(1);
    order.generation = Generation(generation);
    order.attempt = Attempt(1);
    order.backend = "cuda";
    order.operation = "gemm";
    order.device_model = "RTX 2080 Ti";
    for (const ArmRole role : {ArmRole::kCommitted, ArmRole::kCandidate, ArmRole::kIncumbent}) {
      order.arms.push_back(Arm{role, std::string(Name(role)), configuration, std::nullopt, {}, {}});
    }
    order.input_seeds = {1};
    order.rounds = {RoundPlan{true, {{0, 0}, {1, 0}, {2, 0}}}};
    return order;
  }

  const test::TempFolder temp_;
  const std::string folder_ = temp_.path();
  const std::string endpoint_ = "ipc://" + folder_ + "/socket";
  zmq::context_t context_;
  zmq::socket_t router_;
  zmq::message_t peer_;
};

TEST_F(WorkerProgram, MeasuresWhatItIsGrantedAndLeavesWhenItIsDrained) {
  Worker worker(Arguments(), Log());
  const Hello hello = Expect<Hello>();
  EXPECT_THAT(hello.worker.value, ::testing::EndsWith("/replay-gemm.RTX_2080_Ti.csv.gz/0"));
  EXPECT_EQ(hello.boot.value.size(), 16u);
  EXPECT_EQ(hello.device.model, "RTX 2080 Ti");
  Say(Welcome{kLedger, Epoch(1), 5'000, 20'000});
  EXPECT_EQ(Expect<Ready>().credit, 1u);
  for (std::uint32_t generation = 1; generation <= 3; ++generation) {
    Say(Grant{AnOrder(generation), Epoch(1), 60'000});
    const Report report = Expect<ReportMessage>().report;
    EXPECT_EQ(report.outcome, Outcome{});
    EXPECT_EQ(report.generation.value, generation);
    EXPECT_EQ(report.order, Sha256(EncodeOrder(AnOrder(generation))));
    EXPECT_EQ(report.worker, hello.worker);
    ASSERT_EQ(report.rounds.size(), 1u);
    EXPECT_DOUBLE_EQ(report.rounds[0].visits[1].median_us, 60880.553);
    Say(Ack{{OrderKind::kMeasure, TrackId(1), Generation(generation), Attempt(1), 0},
            Sha256(EncodeReport(report)),
            LedgerHead{kLedger, Seq(generation), Sha256("head")}});
    Expect<Ready>();
  }
  Say(Drain{});
  EXPECT_EQ(Expect<Bye>().why, "drained");
  EXPECT_EQ(worker.Wait(), 0);
}

TEST_F(WorkerProgram, SendsTheSameReportAgainAfterAKillAndRemembersTheHead) {
  std::optional<Worker> worker(std::in_place, Arguments(), Log());
  Greet();
  Expect<Ready>();
  Say(Grant{AnOrder(1), Epoch(1), 60'000});
  const Report first = Expect<ReportMessage>().report;
  Say(Ack{{OrderKind::kMeasure, TrackId(1), Generation(1), Attempt(1), 0},
          Sha256(EncodeReport(first)),
          LedgerHead{kLedger, Seq(41), Sha256("head")}});
  Expect<Ready>();
  Say(Grant{AnOrder(2), Epoch(1), 60'000});
  const Report second = Expect<ReportMessage>().report;
  worker->Signal(SIGKILL);
  EXPECT_EQ(worker->Wait(), -SIGKILL);
  worker.reset();

  Worker again(Arguments(), Log());
  Hello hello;
  for (Message message = Receive();; message = Receive()) {  // a READY of the first may still come
    if (const auto* said = std::get_if<Hello>(&message)) {
      hello = *said;
      break;
    }
  }
  EXPECT_EQ(hello.head, (LedgerHead{kLedger, Seq(41), Sha256("head")}));
  Say(Welcome{kLedger, Epoch(1), 5'000, 20'000});
  EXPECT_EQ(Expect<ReportMessage>().report, second);
  Expect<Ready>();
}

TEST_F(WorkerProgram, GoesOnWithACoordinatorThatWasStartedAgain) {
  Worker worker(Arguments(), Log());
  Greet();
  Expect<Ready>();
  router_.close();
  Listen();
  Greet();
  Expect<Ready>();
  worker.Signal(SIGTERM);
  EXPECT_EQ(Expect<Bye>().why, "stopped");
  EXPECT_EQ(worker.Wait(), 0);
}

TEST_F(WorkerProgram, StopsOnASignalWithNoCoordinatorThere) {
  router_.close();
  Worker worker(Arguments(), Log());
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(kWaitMs);
  while (worker.Output().find("event=device") == std::string::npos) {
    ASSERT_LT(std::chrono::steady_clock::now(), end) << worker.Output();
    poll(nullptr, 0, 10);
  }
  worker.Signal(SIGTERM);
  EXPECT_EQ(worker.Wait(), 0);
}

TEST_F(WorkerProgram, ExitsWithACodeOfItsOwnWhenItIsRefused) {
  Worker worker(Arguments(), Log());
  Expect<Hello>();
  Say(Refuse{RefuseCode::kVersion, "protocol 1.0, this coordinator speaks 2.0"});
  EXPECT_EQ(worker.Wait(), 4);
  EXPECT_THAT(worker.Output(),
              ::testing::EndsWith("pawl-worker: refused (version): protocol 1.0, this "
                                  "coordinator speaks 2.0\n"));
}

TEST_F(WorkerProgram, TakesItsOptionsFromAFile) {
  std::ofstream(folder_ + "/config")
      << "connect = \"" << endpoint_ << "\"\nslot = 7\nstate = \"" << folder_
      << "/state\"\ndevice = \"" << Arguments()[3] << "\"\n";
  Worker worker({"--config", folder_ + "/config"}, Log());
  EXPECT_THAT(Expect<Hello>().worker.value, ::testing::EndsWith("/7"));
}

TEST_F(WorkerProgram, RefusesASlotThatIsTaken) {
  Worker first(Arguments(), Log());
  Expect<Hello>();
  Worker second(Arguments(), folder_ + "/second");
  EXPECT_EQ(second.Wait(), 3);
  EXPECT_THAT(second.Output(), AllOf(HasSubstr("another worker has it open"), HasSubstr("--slot")));
}

TEST_F(WorkerProgram, RefusesANameThatIsTakenAlsoInAnotherStateFolder) {
  std::optional<Worker> first(std::in_place, Arguments(), Log());
  const Hello hello = Expect<Hello>();
  std::vector<std::string> arguments = Arguments();
  arguments.back() = folder_ + "/other";
  {
    Worker second(arguments, folder_ + "/second");
    EXPECT_EQ(second.Wait(), 3);
    EXPECT_THAT(second.Output(), ::testing::EndsWith("pawl-worker: worker " + hello.worker.value +
                                                     " at " + endpoint_ +
                                                     ": a worker of that name is there already; "
                                                     "give this one another --slot\n"));
  }
  // Another slot is another name, and a name is free once its worker is gone.
  Worker beside({arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5],
                 "--slot", "1"},
                folder_ + "/beside");
  EXPECT_THAT(Expect<Hello>().worker.value, ::testing::EndsWith("/1"));
  first.reset();
  Worker again(arguments, folder_ + "/again");
  EXPECT_EQ(Expect<Hello>().worker, hello.worker);
}

TEST_F(WorkerProgram, SaysInOneLineWhatIsWrongWithItsOptions) {
  const struct {
    std::vector<std::string> arguments;
    int code;
    const char* line;
  } cases[] = {
      {{}, 2, "pawl-worker: --connect is missing; see pawl-worker --help\n"},
      {{"--conect", "x"}, 2, "pawl-worker: The following argument"},
      {{"--slot", "-1"}, 2, "--slot"},
      {{"--config", folder_ + "/none"}, 2, "none"},
      {{"--connect", "tcp://10.1.2.3:4"}, 3, "not a loopback address"},
      {{"--connect", endpoint_, "--cores", "0-x"}, 2, "--cores \"0-x\": wanted numbers and ranges"},
      {{"--connect", endpoint_, "--cores", "3-1"}, 2, "--cores \"3-1\""},
      {{"--connect", endpoint_, "--state", "/proc/none"}, 3, "/proc/none"},
      {{"--connect", endpoint_, "--state", folder_ + "/state", "--device", "abacus"}, 3, "abacus"},
      {{"--connect", endpoint_, "--state", folder_ + "/state", "--device", "replay:/none.json"},
       3,
       "replay data /none.json: No such file or directory"},
  };
  for (const auto& one : cases) {
    Worker worker(one.arguments, Log());
    EXPECT_EQ(worker.Wait(), one.code) << worker.Output();
    const std::string output = worker.Output();
    const std::size_t line = output.rfind("pawl-worker: ");
    ASSERT_NE(line, std::string::npos) << output;
    EXPECT_THAT(output.substr(line), HasSubstr(one.line));
    EXPECT_EQ(output.find('\n', line), output.size() - 1) << output;
  }
}

TEST_F(WorkerProgram, ListsDevicesForPeopleAndForPrograms) {
  Worker people({"--list-devices"}, Log());
  EXPECT_EQ(people.Wait(), 0);
  EXPECT_THAT(people.Output(), AllOf(HasSubstr("host "), HasSubstr("cuda ")));
  Worker programs({"--list-devices", "--json"}, Log());
  EXPECT_EQ(programs.Wait(), 0);
  EXPECT_THAT(programs.Output(),
              ::testing::StartsWith("{\"name\":\"host\",\"kind\":\"host\",\"model\":\""));
  EXPECT_THAT(programs.Output(), HasSubstr("\"peak_gflops\":0.0,"));
  Worker peaks({"--list-devices", "--json", "--peaks"}, Log());
  EXPECT_EQ(peaks.Wait(), 0);
  const std::string first = peaks.Output().substr(0, peaks.Output().find('\n'));
  EXPECT_THAT(first, AllOf(HasSubstr("peak_gflops"), Not(HasSubstr("\"peak_gflops\":0.0,"))));
  Worker version({"--version"}, Log());
  EXPECT_EQ(version.Wait(), 0);
  EXPECT_EQ(version.Output(), "pawl-worker " PAWL_VERSION "\n");
}

TEST_F(WorkerProgram, LinksNeitherADatabaseNorATomlParser) {
  const std::string program = test::BinFolder() + "/pawl-worker";
  ASSERT_EQ(std::system(("ldd " + program + " > " + Log()).c_str()), 0);
  EXPECT_THAT(ReadFile(Log()), AllOf(HasSubstr("libzmq"), Not(HasSubstr("rocksdb"))));
  // toml++ is a header: its names would be in the binary itself.
  const std::string bytes = ReadFile(program);
  EXPECT_EQ(bytes.find("N4toml"), std::string::npos);
  EXPECT_EQ(bytes.find("toml::v"), std::string::npos);
}

}  // namespace
}  // namespace pawl
