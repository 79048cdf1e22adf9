#include "coordinator/commands/usage.h"

#include "coordinator/search/parameters.h"
#include "kernels/document.h"

namespace pawl {
namespace {

std::vector<std::string> CommandNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

// "--last" of a command's options; arguments have no such name.
std::vector<std::string> OptionNames(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::string Joined(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list;
}

// CLI11 writes sentences.
std::string LowerFirst(std::string text) {
  if (text.size() > 1 && text[0] >= 'A' && text[0] <= 'Z' && text[1] >= 'a' && text[1] <= 'z') {
    text[0] = static_cast<char>(text[0] - 'A' + 'a');
  }
  return text;
}

}  // namespace

std::string UsageText(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* innermost = &app;
  std::string path = app.get_name();
  std::vector<std::string> unknown = app.remaining();
  while (!innermost->get_subcommands().empty()) {
    innermost = innermost->get_subcommands().front();
    path += " " + innermost->get_name();
    if (unknown.empty()) unknown = innermost->remaining();
  }
  const CLI::App& command = *innermost;
  const std::vector<std::string> inner = CommandNames(command);
  const std::string see = "; see `" + path + " --help`";
  // An option that nobody knows leaves the value behind it over, too: the first is the fault.
  if (unknown.empty()) {
    if (!inner.empty()) return "no command; known are " + Joined(inner) + see;
    return LowerFirst(error.what()) + see;
  }
  if (unknown.front().starts_with("-")) {
    return UnknownName("option", unknown.front(), OptionNames(command)).message + see;
  }
  if (!inner.empty()) {
    const std::string nearest = Nearest(unknown.front(), inner);
    return "unknown command '" + unknown.front() + "'" +
           (nearest.empty() ? "" : "; nearest is '" + nearest + "'") + "; known are " +
           Joined(inner) + see;
  }
  return "'" + unknown.front() + "' is one argument too many" + see;
}

}  // namespace pawl
