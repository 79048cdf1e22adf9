#pragma once
// Who may come in over a guarded address, and as whom. Pure: hub_gate.h asks and tells.
//
// 1. A key that is not in the list, and whatever cannot be judged, stays outside; for good only by
// a
//    whole list.
// 2. A host's name comes from its key alone: what a worker calls itself must agree with it.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "schema/keys.h"
#include "schema/message.h"
#include "schema/result.h"

namespace pawl {

inline constexpr char kZapDomain[] = "pawl";

// The frames of a ZAP 1.0 request (ZeroMQ RFC 27), as libzmq sends them for each handshake.
using ZapRequest = std::vector<std::string>;

struct Admission {
  // 200: come in. 400: refused for good; libzmq's clients hear it and do not come again by
  // themselves. 300: not now; they hear nothing and come again.
  int status = 400;
  std::string text;
  std::string host;                  // 200: the user id that the handshake gets
  std::optional<PublicKey> unknown;  // 400: the key that is not in the list
  std::string address;               // of the peer

  bool operator==(const Admission&) const = default;
};

// `list` as read for this handshake; an error is nobody's admission.
Admission Admit(const ZapRequest& request, const Result<AllowList>& list);
// The frames of the answer. Nothing where the request has no id to answer to.
std::vector<std::string> ZapReply(const ZapRequest& request, const Admission& admission);

// Why a worker whose key is `host`'s may not say this; nullopt: it may.
std::optional<std::string> WhyNotAs(const std::string& host, const Hello& hello);
// Why a report that names `worker` as its own may not come with that key.
std::optional<std::string> WhyNotFrom(const std::string& host, const WorkerId& worker);

// What is said of the refused, a line each, and how often: a key once a minute, ten lines a minute
// in all, and how many went unsaid with the next. A flood of strangers fills no disk.
class RefusalNotes {
 public:
  explicit RefusalNotes(std::string folder) : folder_(std::move(folder)) {}

  // The line to say now, if any.
  std::optional<std::string> Of(const Admission& refused, std::int64_t now_ms);

 private:
  const std::string folder_;  // of the keys
  std::map<std::string, std::int64_t> said_ms_;
  std::size_t unsaid_ = 0;
};

}  // namespace pawl
