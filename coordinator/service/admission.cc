#include "coordinator/service/admission.h"

#include "schema/key_files.h"

namespace pawl {
namespace {

// Frames of a request.
constexpr std::size_t kVersion = 0, kRequestId = 1, kDomain = 2, kAddress = 3, kMechanism = 5,
                      kCredentials = 6, kFrames = 7;
constexpr std::int64_t kSayAgainMs = 60'000;
constexpr std::size_t kMostLines = 10;  // in that time

Admission Refused(int status, std::string text, std::string address) {
  Admission admission;
  admission.status = status;
  admission.text = std::move(text);
  admission.address = std::move(address);
  return admission;
}

}  // namespace

Admission Admit(const ZapRequest& request, const Result<AllowList>& list) {
  const std::string address = request.size() > kAddress ? request[kAddress] : "";
  if (request.size() != kFrames || request[kVersion] != "1.0") {
    return Refused(400, "no request of ZAP 1.0 with one credential", address);
  }
  if (request[kDomain] != kZapDomain) return Refused(400, "another domain", address);
  if (request[kMechanism] != "CURVE") return Refused(400, "no CURVE key", address);
  const auto key = PublicKey::FromBytes(request[kCredentials]);
  if (!key) return Refused(400, key.error().message, address);
  if (!list) return Refused(300, list.error().message, address);
  const AllowedKey* allowed = list->Find(*key);
  if (allowed == nullptr && !list->whole) {
    return Refused(
        300, "the list of allowed keys is missing, empty or ends in the middle of a line", address);
  }
  if (allowed == nullptr) {
    Admission refused = Refused(400, "key not allowed", address);
    refused.unknown = *key;
    return refused;
  }
  Admission admitted;
  admitted.status = 200;
  admitted.text = "OK";
  admitted.host = allowed->host;
  admitted.address = address;
  return admitted;
}

std::vector<std::string> ZapReply(const ZapRequest& request, const Admission& admission) {
  if (request.size() <= kRequestId) return {};
  // The text stays here: strangers are told the code, and no path of a file.
  return {"1.0", request[kRequestId], std::to_string(admission.status), "", admission.host, ""};
}

std::optional<std::string> WhyNotFrom(const std::string& host, const WorkerId& worker) {
  if (worker.value.substr(0, worker.value.find('/')) == host) return std::nullopt;
  return "a report of worker " + worker.value + " came with the key of host " + host;
}

std::optional<std::string> WhyNotAs(const std::string& host, const Hello& hello) {
  const std::string& name = hello.worker.value;
  const std::string claimed = name.substr(0, name.find('/'));
  if (claimed == host && hello.host == host) return std::nullopt;
  return "worker " + name + " of host " + hello.host + " came with the key of host " + host +
         "; start it with --host " + host + ", or allow its host's own key under its name";
}

std::optional<std::string> RefusalNotes::Of(const Admission& refused, std::int64_t now_ms) {
  for (auto said = said_ms_.begin(); said != said_ms_.end();) {
    said = now_ms - said->second >= kSayAgainMs ? said_ms_.erase(said) : std::next(said);
  }
  const std::string about = refused.unknown ? refused.unknown->Hex() : refused.text;
  // What is wrong with the list has few texts, and no stranger hides it.
  if (said_ms_.contains(about) || (refused.unknown && said_ms_.size() >= kMostLines)) {
    ++unsaid_;
    return std::nullopt;
  }
  said_ms_.emplace(about, now_ms);
  const bool placed = refused.text.find(folder_) != std::string::npos;
  const std::string where = placed ? "" : " (in " + folder_ + ")";
  std::string line = refused.status == 300 ? "nobody new gets in: " + refused.text + where
                     : refused.unknown
                         ? "key " + about + " from " + refused.address +
                               " is not allowed; if it is yours: pawl keys allow NAME " + about +
                               (folder_ == DefaultKeyFolder() ? "" : " --folder " + folder_)
                         : "refused " + refused.address + ": " + refused.text;
  if (unsaid_ > 0) line += " (" + std::to_string(unsaid_) + " more refusals since the last line)";
  unsaid_ = 0;
  return line;
}

}  // namespace pawl
