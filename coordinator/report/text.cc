#include "coordinator/report/text.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace pawl {
namespace {

std::string Print(const char* format, double value) {
  std::array<char, 64> text;
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

// Three significant digits: 842, 82.7, 4.31.
std::string ThreeDigits(double value) {
  if (value >= 99.95) return Print("%.0f", value);
  return value >= 9.995 ? Print("%.1f", value) : Print("%.2f", value);
}

// Characters of UTF-8 text: bytes that do not continue one.
std::size_t Characters(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xc0) != 0x80;
  }));
}

}  // namespace

std::string FormatTime(double us) {
  if (us < 0.9995) return ThreeDigits(us * 1e3) + " ns";
  if (us < 999.5) return ThreeDigits(us) + " us";
  if (us < 999.5e3) return ThreeDigits(us / 1e3) + " ms";
  return ThreeDigits(us / 1e6) + " s";
}

std::string FormatRate(double per_second, const std::string& unit) {
  static constexpr std::array<const char*, 6> kPrefixes = {"", "k", "M", "G", "T", "P"};
  std::size_t prefix = 0;
  while (per_second >= 999.5 && prefix + 1 < kPrefixes.size()) {
    per_second /= 1e3;
    ++prefix;
  }
  return ThreeDigits(per_second) + " " + kPrefixes[prefix] + unit;
}

std::string FormatRatio(double ratio) { return Print("%.4f", ratio); }

std::string FormatFactor(double factor) { return ThreeDigits(factor); }

std::string FormatGain(double fraction) { return Print("%+.2f %%", 100 * fraction); }

std::string FormatDuration(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::llround(std::max(seconds, 0.0)));
  std::array<char, 64> text;
  if (whole < 60) {
    std::snprintf(text.data(), text.size(), "%lld s", static_cast<long long>(whole));
  } else if (whole < 3'600) {
    std::snprintf(text.data(), text.size(), "%lld min %02lld s", static_cast<long long>(whole / 60),
                  static_cast<long long>(whole % 60));
  } else {
    std::snprintf(text.data(), text.size(), "%lld h %02lld min",
                  static_cast<long long>(whole / 3'600), static_cast<long long>(whole / 60 % 60));
  }
  return text.data();
}

std::string FormatDate(std::int64_t unix_ms) {
  const time_t seconds = unix_ms / 1'000;
  tm local{};
  ::localtime_r(&seconds, &local);
  std::array<char, 64> text;
  ::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &local);
  return text.data();
}

bool ColourWanted(int fd) {
  const char* no_color = std::getenv("NO_COLOR");
  if (no_color != nullptr && *no_color != '\0') return false;
  const char* term = std::getenv("TERM");
  if (term != nullptr && std::strcmp(term, "dumb") == 0) return false;
  return ::isatty(fd) == 1;
}

std::string Paint(const std::string& text, Tone tone, bool colour) {
  if (!colour || tone == Tone::kPlain || text.empty()) return text;
  const char* code = tone == Tone::kGood  ? "32"
                     : tone == Tone::kBad ? "31"
                     : tone == Tone::kDim ? "2"
                                          : "1";
  return std::string("\033[") + code + "m" + text + "\033[0m";
}

TextTable::TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

void TextTable::Add(std::vector<Cell> cells) { rows_.push_back(std::move(cells)); }

std::string TextTable::Line(const std::vector<Cell>& cells, const std::vector<std::size_t>& widths,
                            bool colour) const {
  std::string line;
  for (std::size_t i = 0; i < cells.size() && i < columns_.size(); ++i) {
    const std::size_t size = Characters(cells[i].text);
    const std::string padding(size < widths[i] ? widths[i] - size : 0, ' ');
    const std::string painted = Paint(cells[i].text, cells[i].tone, colour);
    if (i > 0) line += "  ";
    line += columns_[i].align == Align::kRight ? padding + painted : painted + padding;
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line + "\n";
}

std::string TextTable::Header(bool colour) const {
  std::vector<Cell> titles;
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) {
    titles.push_back({column.title, Tone::kStrong});
    widths.push_back(std::max(column.least, Characters(column.title)));
  }
  return Line(titles, widths, colour);
}

std::string TextTable::Row(const std::vector<Cell>& cells, bool colour) const {
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) {
    widths.push_back(std::max(column.least, Characters(column.title)));
  }
  return Line(cells, widths, colour);
}

std::string TextTable::Render(bool colour) const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    widths.push_back(std::max(columns_[i].least, Characters(columns_[i].title)));
    for (const auto& row : rows_) {
      if (i < row.size()) widths[i] = std::max(widths[i], Characters(row[i].text));
    }
  }
  std::vector<Cell> titles;
  for (const Column& column : columns_) titles.push_back({column.title, Tone::kStrong});
  std::string text = Line(titles, widths, colour);
  for (const auto& row : rows_) text += Line(row, widths, colour);
  return text;
}

}  // namespace pawl
