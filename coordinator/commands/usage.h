#pragma once
// What a person typed that `pawl` cannot take, in one line.

#include <CLI/CLI.hpp>
#include <string>

namespace pawl {

// For an error of `app.parse`: what is wrong, the nearest known word, and where to read on.
std::string UsageText(const CLI::App& app, const CLI::ParseError& error);

}  // namespace pawl
