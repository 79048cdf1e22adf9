#include "coordinator/bench/rival_lines.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace pawl {
namespace {

using nlohmann::json;

constexpr std::size_t kMostVersions = 16;

std::string Line(const json& request) {
  return request.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

Error Wrong(std::string_view request, std::string_view line, const std::string& wanted) {
  return Error{"answered " + std::string(request) + " with '" + Quotable(line) + "'; wanted " +
               wanted};
}

std::string TextOf(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? Quotable(found->get<std::string>()) : "";
}

// An answer of some kind, or what the rival says is wrong.
Result<json> ParseAnswer(std::string_view request, std::string_view line,
                         const std::string& wanted) {
  json answer = json::parse(line, nullptr, false);
  if (!answer.is_object()) return Wrong(request, line, wanted);
  if (answer.contains("error")) {
    const std::string why = TextOf(answer, "error");
    return Error{"failed in " + std::string(request) + ": " + (why.empty() ? Quotable(line) : why)};
  }
  return answer;
}

bool IsTrue(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

}  // namespace

std::string Quotable(std::string_view text, std::size_t most) {
  const bool cut = text.size() > most;
  std::string quoted(text.substr(0, most));
  for (char& c : quoted) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = ' ';
  }
  // What is no UTF-8, also for having been cut, becomes U+FFFD.
  const std::string dumped = json(quoted).dump(-1, ' ', false, json::error_handler_t::replace);
  return json::parse(dumped).get<std::string>() + (cut ? "..." : "");
}

std::string InputFile(const Buffer& buffer, const std::string& folder) {
  return folder + "/" + buffer.name + ".in";
}

std::string OutputFile(const Buffer& buffer, const std::string& folder) {
  return folder + "/" + buffer.name + ".out";
}

std::string PrepareLine(const Order& order, const std::string& folder) {
  json shape = json::object();
  for (const Scalar& letter : order.scalars) shape[letter.name] = letter.value;
  json tensors = json::array();
  for (const Buffer& buffer : order.buffers) {
    const bool input = buffer.role == BufferRole::kInput;
    json tensor = {{"name", buffer.name},
                   {"role", input ? "input" : "output"},
                   {"dtype", std::string(Name(buffer.dtype))},
                   {"extents", buffer.extents}};
    if (input) tensor["file"] = InputFile(buffer, folder);
    tensors.push_back(std::move(tensor));
  }
  return Line({{"do", "prepare"},
               {"protocol", kRivalProtocol},
               {"operation", order.operation},
               {"backend", order.backend},
               {"instrument", std::string(Name(order.timing.instrument))},
               {"shape", std::move(shape)},
               {"tensors", std::move(tensors)}});
}

std::string RunLine(std::uint32_t warmup, std::uint32_t iterations) {
  return Line({{"do", "run"}, {"warmup", warmup}, {"iterations", iterations}});
}

std::string WriteLine(const Order& order, const std::string& folder) {
  json outputs = json::array();
  for (const Buffer& buffer : order.buffers) {
    if (buffer.role != BufferRole::kOutput) continue;
    outputs.push_back({{"name", buffer.name}, {"file", OutputFile(buffer, folder)}});
  }
  return Line({{"do", "write"}, {"outputs", std::move(outputs)}});
}

std::string QuitLine() { return Line({{"do", "quit"}}); }

Result<PrepareAnswer> ParsePrepared(std::string_view line) {
  const std::string wanted = "{\"ok\": true, \"protocol\": " + std::to_string(kRivalProtocol) +
                             "} or {\"absent\": \"why\"}";
  auto answer = ParseAnswer("prepare", line, wanted);
  if (!answer) return answer.error();
  if (answer->contains("absent")) {
    const std::string why = TextOf(*answer, "absent");
    if (why.empty()) return Wrong("prepare", line, wanted);
    return PrepareAnswer(RivalAbsent{why});
  }
  if (!IsTrue(*answer, "ok")) return Wrong("prepare", line, wanted);
  const auto protocol = answer->find("protocol");
  if (protocol == answer->end() || *protocol != kRivalProtocol) {
    const std::string said =
        protocol == answer->end() ? "none" : Quotable(protocol->dump(-1, ' ', true));
    return Error{"speaks protocol " + said + "; wanted " + std::to_string(kRivalProtocol)};
  }
  RivalPrepared prepared;
  const auto versions = answer->find("versions");
  if (versions == answer->end() || !versions->is_object())
    return PrepareAnswer(std::move(prepared));
  for (const auto& [name, version] : versions->items()) {
    if (!version.is_string() || prepared.versions.size() == kMostVersions) continue;
    prepared.versions.emplace_back(Quotable(name), Quotable(version.get<std::string>()));
  }
  return PrepareAnswer(std::move(prepared));
}

Result<std::vector<double>> ParseTimes(std::string_view line, std::uint32_t iterations) {
  const std::string wanted =
      "{\"us\": [" + std::to_string(iterations) + " times in microseconds, above 0]}";
  auto answer = ParseAnswer("run", line, wanted);
  if (!answer) return answer.error();
  const auto times = answer->find("us");
  if (times == answer->end() || !times->is_array() || times->size() != iterations) {
    return Wrong("run", line, wanted);
  }
  std::vector<double> us;
  us.reserve(iterations);
  for (const json& time : *times) {
    const double value = time.is_number() ? time.get<double>() : 0;
    if (!std::isfinite(value) || value <= 0) {
      return Error{"answered run with the time " + Quotable(time.dump(-1, ' ', true)) +
                   "; wanted " + wanted};
    }
    us.push_back(value);
  }
  return us;
}

Status ParseWritten(std::string_view line) {
  const std::string wanted = "{\"ok\": true}";
  auto answer = ParseAnswer("write", line, wanted);
  if (!answer) return answer.error();
  if (!IsTrue(*answer, "ok")) return Wrong("write", line, wanted);
  return {};
}

}  // namespace pawl
