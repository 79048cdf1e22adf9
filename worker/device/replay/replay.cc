#include "worker/device/replay/replay.h"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>
#include <utility>
#include <vector>

#include "schema/digest.h"
#include "worker/device/replay/noise.h"
#include "worker/device/replay/recording.h"

namespace pawl {

Answer NotRecorded(std::string why, bool exhausted) {
  Answer answer;
  answer.outcome = Outcome{OutcomeKind::kNoData, std::nullopt, std::move(why)};
  answer.exhausted = exhausted;
  return answer;
}

Error BadRecording(const std::string& path, std::size_t line, const std::string& what) {
  std::string text = path + ":" + std::to_string(line) + ": " + what;
  // What is quoted from a damaged file stays on one line.
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == 127) c = '?';
  }
  return Error{std::move(text)};
}

std::size_t LineAt(std::string_view bytes, std::size_t offset) {
  const std::string_view before = bytes.substr(0, std::min(offset, bytes.size()));
  return 1 + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
}

namespace {

bool EndsWith(std::string_view text, std::string_view ending) {
  return text.size() >= ending.size() && text.substr(text.size() - ending.size()) == ending;
}

Result<std::string> ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return Error{"replay data " + path + ": " + std::strerror(errno)};
  std::string bytes;
  char piece[64 << 10];
  while (in.read(piece, sizeof piece) || in.gcount() > 0) {
    bytes.append(piece, static_cast<std::size_t>(in.gcount()));
  }
  if (in.bad()) return Error{"replay data " + path + ": cannot be read"};
  return bytes;
}

Result<std::string> Gunzip(const std::string& path, const std::string& packed) {
  z_stream stream{};
  if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK) return Error{path + ": zlib does not start"};
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string bytes;
  std::vector<char> piece(256 << 10);
  int state = Z_OK;
  while (state == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    state = inflate(&stream, Z_NO_FLUSH);
    bytes.append(piece.data(), piece.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  if (state != Z_STREAM_END) {
    return BadRecording(path, LineAt(bytes, bytes.size()),
                        "the gzip data is damaged or ends too early");
  }
  return bytes;
}

class Replay final : public Device {
 public:
  Replay(std::unique_ptr<Recording> recording, Noise noise, DeviceFacts facts)
      : recording_(std::move(recording)), noise_(noise), facts_(std::move(facts)) {}

  DeviceFacts Facts() const override { return facts_; }

  Result<Execution> Execute(const Order& order, const Progress& progress) override {
    Execution execution;
    Report& report = execution.report;
    report.toolchain = facts_.toolchain;
    for (const Arm& arm : order.arms) report.arms.push_back(arm.role);
    if (!order.arms.empty()) progress(Stage::kRun, order.arms.front().role);

    Answer answer = recording_->Find(order);
    report.outcome = std::move(answer.outcome);
    report.data_exhausted = answer.exhausted;
    report.checks = std::move(answer.checks);
    if (report.outcome.kind != OutcomeKind::kMeasured) return execution;
    // What was never checked answers no order that asks for a check.
    if (order.check.reference && report.checks.empty()) {
      report.outcome = {OutcomeKind::kNoData, std::nullopt,
                        recording_->model() +
                            ": recorded without a check (no max_abs_error), and the "
                            "order asks for one"};
      return execution;
    }

    const std::vector<double> factors = noise_.Factors(order);
    const double calls = static_cast<double>(order.timing.warmup) + order.timing.iterations;
    std::size_t next = 0;
    for (const RoundPlan& round : order.rounds) {
      RoundMedians medians;
      for (const VisitPlan& visit : round.visits) {
        const double us = answer.visit_us[next] * factors[next];
        ++next;
        report.run_seconds += us * calls * 1e-6;
        medians.visits.push_back(VisitMedian{visit.arm, visit.input_set, us, 0});
      }
      if (round.recorded) report.rounds.push_back(std::move(medians));
    }
    return execution;
  }

  void Prepare(const pawl::Prepare&) override {}

 private:
  const std::unique_ptr<Recording> recording_;
  const Noise noise_;
  const DeviceFacts facts_;
};

}  // namespace

Result<std::unique_ptr<Device>> OpenReplay(const std::string& argument, const DeviceOptions&) {
  const std::size_t question = argument.find('?');
  const std::string path = argument.substr(0, question);
  if (path.empty())
    return Error{"replay: no file; give replay:FILE or replay:FILE?key=value&key=value"};

  Noise noise;
  std::string model;
  std::string_view keys = question == std::string::npos
                              ? std::string_view()
                              : std::string_view(argument).substr(question + 1);
  while (!keys.empty()) {
    const std::size_t end = keys.find('&');
    const std::string_view pair = keys.substr(0, end);
    keys.remove_prefix(end == std::string_view::npos ? keys.size() : end + 1);
    const std::size_t equals = pair.find('=');
    const std::string key(pair.substr(0, equals));
    const std::string value(equals == std::string_view::npos ? std::string_view()
                                                             : pair.substr(equals + 1));
    if (key == "model") {
      if (value.empty()) return Error{"replay " + path + ": model is empty"};
      model = value;
      continue;
    }
    const Result<bool> taken = noise.Set(key, value);
    if (!taken) return taken.error();
    if (!*taken) {
      std::string known = "model";
      for (const std::string& one : Noise::Keys()) known += ", " + one;
      return Error{"replay " + path + ": unknown key \"" + key + "\"; known are " + known};
    }
  }

  const bool ledger = EndsWith(path, ".json");
  const bool packed = EndsWith(path, ".csv.gz");
  if (!ledger && !packed && !EndsWith(path, ".csv")) {
    return Error{"replay " + path +
                 ": the name ends in neither .json (a ledger) nor .csv or .csv.gz (a table)"};
  }
  Result<std::string> file = ReadFile(path);
  if (!file) return file.error();
  const Digest digest = Sha256(*file);
  if (packed) {
    file = Gunzip(path, *file);
    if (!file) return file.error();
  }
  Result<std::unique_ptr<Recording>> recording =
      ledger ? ReadLedgerRecording(path, *file) : ReadTableRecording(path, *file);
  if (!recording) return recording.error();
  if (model.empty()) model = (*recording)->model();
  const bool plain = std::none_of(model.begin(), model.end(), [](char c) {
    return static_cast<unsigned char>(c) < ' ' || c == 127;
  });
  if (model.empty() || !plain) {
    return BadRecording(path, 1, "the device is called \"" + model + "\", wanted one line of text");
  }

  DeviceFacts facts;
  facts.kind = "replay";
  facts.model = model;
  facts.toolchain = "replay " + path.substr(path.rfind('/') + 1) + " " + digest.Short();
  if (noise.Any()) facts.toolchain += " " + noise.Text();
  facts.instruments = (*recording)->instruments();
  facts.needs_source = false;
  return std::unique_ptr<Device>(
      std::make_unique<Replay>(std::move(*recording), noise, std::move(facts)));
}

}  // namespace pawl
