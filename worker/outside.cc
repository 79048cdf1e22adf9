#include "worker/outside.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "schema/codec.h"
#include "worker/device/compare.h"
#include "worker/device/fill.h"
#include "worker/device/host/compiler.h"
#include "worker/device/host/input_sets.h"
#include "worker/device/host/machine.h"
#include "worker/object_cache.h"

namespace pawl {
namespace {

namespace fs = std::filesystem;

constexpr int kExitFailed = 3;
constexpr std::uint64_t kCacheBytes = 2ull << 30;
constexpr std::string_view kSets[] = {"timed", "hidden"};

Result<std::string> ReadWhole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (!file) return Error{"cannot read " + path};
  return bytes;
}

std::uint64_t SeedOf(const Order& order, std::string_view set) {
  return set == "hidden" ? order.check.hidden_seed : order.input_seeds.front();
}

std::size_t BytesOf(const Buffer& buffer) {
  return static_cast<std::size_t>(buffer.Elements()) * SizeOf(buffer.dtype);
}

// The device host's input sets, without the device.
class References {
 public:
  static Result<std::unique_ptr<References>> Open(const std::string& state) {
    const Machine machine = ReadMachine({});
    std::unique_ptr<References> references(new References());
    auto cache = ObjectCache::Open(state + "/cache", kCacheBytes);
    if (!cache) return cache.error();
    references->cache_ = *std::move(cache);
    const std::string scratch = state + "/scratch-outside";
    std::error_code failed;
    fs::create_directories(scratch, failed);
    if (failed) return Error{"cannot make " + scratch + ": " + failed.message()};
    auto compiler = Compiler::Open(scratch, *references->cache_, machine.instructions);
    if (!compiler) return compiler.error();
    references->compiler_ = *std::move(compiler);
    references->sets_ = std::make_unique<InputSets>(*references->compiler_, *references->cache_,
                                                    scratch, machine.usable_cores);
    return references;
  }

  // What the outputs of a set must be.
  Result<std::shared_ptr<const InputSet>> Of(const Order& order, std::string_view set) {
    auto all = sets_->Of(order, [] {});
    if (!all) return all.error();
    return set == "hidden" ? all->hidden : all->timed.front();
  }

 private:
  References() = default;

  std::unique_ptr<ObjectCache> cache_;
  std::unique_ptr<Compiler> compiler_;
  std::unique_ptr<InputSets> sets_;
};

void Fail(CheckFacts& check, std::string detail) {
  check.passed = false;
  if (check.detail.empty()) check.detail = std::move(detail);
}

void CompareFile(const Order& order, const Buffer& buffer, const std::string& path,
                 const std::vector<double>& expected, CheckFacts& check) {
  const std::size_t wanted = BytesOf(buffer);
  std::error_code failed;
  const std::uintmax_t size = fs::file_size(path, failed);
  if (failed) return Fail(check, "wrote no file for output " + buffer.name);
  if (size != wanted) {
    return Fail(check, "wrote " + std::to_string(size) + " bytes for output " + buffer.name + ", " +
                           std::to_string(wanted) + " are wanted");
  }
  const auto bytes = ReadWhole(path);
  if (!bytes) return Fail(check, bytes.error().message);
  std::vector<double> aligned((bytes->size() + sizeof(double) - 1) / sizeof(double));
  if (bytes->size() != wanted) return Fail(check, "changed the file of output " + buffer.name);
  std::memcpy(aligned.data(), bytes->data(), bytes->size());
  const Comparison compared =
      Compare(buffer, aligned.data(), expected.data(), order.check.rtol, order.check.atol);
  check.elements += compared.elements;
  check.wrong += compared.wrong;
  check.max_abs_error = std::max(check.max_abs_error, compared.max_abs_error);
  if (compared.wrong > 0) Fail(check, compared.detail);
}

Status WriteInputs(const Order& order, const std::string& folder) {
  for (const std::string_view set : kSets) {
    const fs::path place = fs::path(folder) / set;
    std::error_code failed;
    fs::create_directories(place, failed);
    if (failed) return Error{"cannot make " + place.string() + ": " + failed.message()};
    for (std::uint32_t i = 0; i < order.buffers.size(); ++i) {
      const Buffer& buffer = order.buffers[i];
      if (buffer.role != BufferRole::kInput) continue;
      std::vector<double> elements((BytesOf(buffer) + sizeof(double) - 1) / sizeof(double));
      FillBuffer(buffer, i, SeedOf(order, set), elements.data());
      const std::string path = (place / (buffer.name + ".in")).string();
      std::ofstream file(path, std::ios::binary | std::ios::trunc);
      file.write(reinterpret_cast<const char*>(elements.data()),
                 static_cast<std::streamsize>(BytesOf(buffer)));
      if (!file.flush()) return Error{"cannot write " + path};
    }
  }
  return {};
}

// A file that is missing, short or long is a failed check.
Result<CheckFacts> CheckOutputs(const Order& order, const std::string& folder,
                                const std::string& set, References& references) {
  const auto expected = references.Of(order, set);
  if (!expected) return expected.error();
  CheckFacts check;
  check.arm = ArmRole::kRival;
  check.passed = true;
  for (std::size_t i = 0; i < order.buffers.size(); ++i) {
    const Buffer& buffer = order.buffers[i];
    if (buffer.role != BufferRole::kOutput) continue;
    CompareFile(order, buffer, folder + "/" + set + "/" + buffer.name + ".out",
                (*expected)->expected[i], check);
  }
  return check;
}

nlohmann::json CheckJson(const CheckFacts& check) {
  const double error = check.max_abs_error;
  return {{"passed", check.passed},
          {"elements", check.elements},
          {"wrong", check.wrong},
          {"max_abs_error", std::isfinite(error) ? nlohmann::json(error) : nlohmann::json()},
          {"detail", check.detail}};
}

Result<nlohmann::json> AnswerTo(const std::string& request, const OutsideCommand& command,
                                const Order& order, References& references) {
  if (request == "inputs") {
    if (Status written = WriteInputs(order, command.folder); !written) return written.error();
    return nlohmann::json{{"ok", true}};
  }
  for (const std::string set : {"timed", "hidden"}) {
    if (request != "check " + set) continue;
    const auto check = CheckOutputs(order, command.folder, set, references);
    if (!check) return check.error();
    return CheckJson(*check);
  }
  return Error{"knows no request '" + request + "'"};
}

int CannotRun(const std::string& why) {
  std::fprintf(stderr, "pawl-worker: %s\n", why.c_str());
  return kExitFailed;
}

}  // namespace

std::optional<Result<OutsideCommand>> ParseOutsideArguments(int argc, const char* const* argv) {
  if (argc < 2 || std::string_view(argv[1]) != "--outside") return std::nullopt;
  if (argc != 5) return Error{"--outside: wanted ORDER FOLDER STATE"};
  return OutsideCommand{argv[2], argv[3], argv[4]};
}

int OutsideMain(const OutsideCommand& command) {
  const auto bytes = ReadWhole(command.order);
  if (!bytes) return CannotRun(bytes.error().message);
  const auto order = DecodeOrder(*bytes);
  if (!order) return CannotRun(command.order + ": " + order.error().message);
  if (order->input_seeds.empty()) return CannotRun(command.order + ": has no input set");
  auto references = References::Open(command.state);
  if (!references) return CannotRun(references.error().message);
  for (std::string request; std::getline(std::cin, request);) {
    const auto answer = AnswerTo(request, command, *order, **references);
    if (!answer) return CannotRun(answer.error().message);
    const auto replace = nlohmann::json::error_handler_t::replace;
    std::printf("%s\n", answer->dump(-1, ' ', false, replace).c_str());
    if (std::fflush(stdout) != 0) return kExitFailed;
  }
  return 0;
}

}  // namespace pawl
