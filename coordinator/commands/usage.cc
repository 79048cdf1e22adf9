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
  const std::vector<CLI::App*> used = app.get_subcommands();
  const CLI::App& command = used.empty() ? app : *used.front();
  const std::string see =
      "; see `" + (used.empty() ? app.get_name() : app.get_name() + " " + command.get_name()) +
      " --help`";
  std::vector<std::string> unknown = app.remaining();
  if (unknown.empty()) unknown = command.remaining();
  // An option that nobody knows leaves the value behind it over, too: the first is the fault.
  if (unknown.empty()) {
    if (used.empty()) return "no command; known are " + Joined(CommandNames(app)) + see;
    return LowerFirst(error.what()) + see;
  }
  if (unknown.front().starts_with("-")) {
    return UnknownName("option", unknown.front(), OptionNames(command)).message + see;
  }
  if (used.empty()) {
    const std::string nearest = Nearest(unknown.front(), CommandNames(app));
    return "unknown command '" + unknown.front() + "'" +
           (nearest.empty() ? "" : "; nearest is '" + nearest + "'") + "; known are " +
           Joined(CommandNames(app)) + see;
  }
  return "'" + unknown.front() + "' is one argument too many" + see;
}

}  // namespace pawl
