#pragma once
// What an agent holds between two calls. Private to agent.cc (the conversation) and agent_work.cc
// (orders and the runner).

#include <array>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "schema/report.h"
#include "worker/agent.h"

namespace pawl {

LeaseKey KeyOf(const Order& order);
std::string Text(
    const LeaseKey& key);  // "track=1 generation=7 attempt=2 batch=0", as log lines have it

// The order that is being worked on.
struct HeldOrder {
  Order order;
  LeaseKey key;
  Digest digest;    // of the order's bytes
  LedgerId ledger;  // that granted it
  std::int64_t lease_ms = 0;
  std::int64_t ends_ms = 0;       // of the lease
  std::uint64_t extended_at = 0;  // units done when it was last extended
  Stage stage = Stage::kBuild;
  std::optional<ArmRole> arm;       // nullopt: the runner has not said where it is yet
  std::int64_t stage_since_ms = 0;  // of the unit it is in
  std::int64_t stage_ends_ms = 0;
  std::array<double, 3> seconds{};  // spent, by stage
};

struct SentBeat {
  std::int64_t sent_ms = 0;
  std::uint64_t units_done = 0;
};

struct Agent::State {
  State(AgentOptions given, Link& link_given, Child& child_given, Spool& spool_given,
        Evidence* evidence_given)
      : options(std::move(given)),
        link(link_given),
        child(child_given),
        spool(spool_given),
        evidence(evidence_given) {}

  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  enum class Phase { kConnecting, kGreeting, kServing };

  const AgentOptions options;
  Link& link;
  Child& child;
  Spool& spool;
  Evidence* const evidence;

  std::int64_t now = 0;
  std::int64_t expected = kNever;  // when the next call was to come at the latest
  AgentEnd ended = AgentEnd::kRunning;
  std::string why;

  // The conversation.
  Phase phase = Phase::kConnecting;
  std::uint64_t connections = 0;
  std::int64_t hello_again = kNever;
  std::int64_t last_heard = 0;
  LedgerHead said_head;  // in the newest HELLO
  LedgerId ledger;       // of the newest WELCOME
  std::int64_t beat_ms = 5'000;
  std::int64_t lost_ms = 20'000;
  std::int64_t next_beat = 0;
  std::deque<SentBeat> beats;           // not answered yet
  bool ready_said = false;              // since something was last held or given back
  std::map<Digest, std::int64_t> sent;  // reports, and when
  std::set<Digest> postponed;           // sent, and to be sent again to another coordinator
  bool leaving = false;
  std::string leaving_why;
  std::int64_t leave_by = kNever;  // when reports are not waited for any longer

  // The work.
  DeviceFacts facts;
  std::optional<HeldOrder> held;
  std::uint64_t units_done = 0;
  std::uint32_t orders_of_child = 0;
  std::uint32_t idle_exits = 0;  // of runners, since one last finished an order
  std::deque<std::pair<LedgerId, LeaseKey>> finished;  // the newest ones

  void Wake(std::int64_t now_ms);
  void End(AgentEnd how, std::string line);

  // agent.cc
  void Drain();  // reads link and child until nothing is there
  void SayHello();
  void OnLink(const Result<Message>& message);
  void OnMessage(const Welcome& welcome);
  void OnMessage(const Refuse& refuse);
  void OnMessage(const BeatAck& ack);
  void OnMessage(const Ack& ack);
  void OnMessage(const RejectMessage& reject);
  void OnMessage(const pawl::Drain& drain);
  void SendReports();
  void SendBeat();
  void Release(const LeaseKey& key, const std::string& reason);
  void Leave(const std::string& reason);
  void Proceed();
  std::int64_t NextDeadline() const;

  // agent_work.cc
  void OnMessage(const Grant& grant);
  void OnMessage(const Cancel& cancel);
  void OnMessage(const Prepare& hint);
  void OnChild(const ChildEvent& event);
  bool EnsureChild();  // false: ended
  void GiveUp(const char* reason);
  void CountUnit();
  void CheckDeadlines();
  void Finish(Execution execution);
  void FinishFault(OutcomeKind kind, std::string detail);
  std::int64_t StageLimit(Stage stage) const;
};

}  // namespace pawl
