#pragma once
// Result<T>: a value, or an Error that says where, what was seen, what was wanted, what to do.
//
// For a failing world (files, sockets, bad input). A failing candidate is data (schema/outcome.h);
// a bug is CHECK. Spelt like std::expected so that it can become an alias of it in C++23.

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "schema/check.h"

namespace pawl {

// What the caller does next with a failure.
enum class Advice {
  kReject,  // tell the author of the input; the same input fails again
  kRetry,   // the same call may succeed later
  kHalt,    // stop the process: going on could lose what was promised
};

struct Error {
  std::string message;  // lower case, one line
  Advice advice = Advice::kReject;

  bool operator==(const Error&) const = default;
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state_.index() == 0; }
  bool has_value() const { return state_.index() == 0; }

  T& value() & {
    CHECK(has_value(), error().message);
    return std::get<0>(state_);
  }
  const T& value() const& {
    CHECK(has_value(), error().message);
    return std::get<0>(state_);
  }
  T&& value() && {
    CHECK(has_value(), error().message);
    return std::get<0>(std::move(state_));
  }
  const Error& error() const { return std::get<1>(state_); }

  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  explicit operator bool() const { return !error_.has_value(); }
  bool has_value() const { return !error_.has_value(); }
  const Error& error() const {
    CHECK(error_.has_value());
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace pawl
