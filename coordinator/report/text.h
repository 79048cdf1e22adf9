#pragma once
// Figures and tables as people read them. Colour and progress only on a terminal, and not with
// NO_COLOR.

#include <cstdint>
#include <string>
#include <vector>

namespace pawl {

std::string FormatTime(double us);  // "842 ns", "82.7 us", "4.31 ms", "1.20 s"
std::string FormatRate(double per_second,
                       const std::string& unit);  // 1.23e12, "FLOP/s" -> "1.23 TFLOP/s"
std::string FormatRatio(double ratio);            // "0.7778"
std::string FormatFactor(double factor);          // "4.20", "0.61"
std::string FormatGain(double fraction);          // "+4.36 %", "-0.20 %"
std::string FormatDuration(double seconds);       // "4 s", "2 min 10 s", "3 h 05 min"
std::string FormatDate(std::int64_t unix_ms);     // "2026-09-10 14:03:22" in local time

enum class Tone { kPlain, kGood, kBad, kDim, kStrong };

// Whether stdout takes colour: a terminal, TERM not "dumb", NO_COLOR unset or empty.
bool ColourWanted(int fd);
std::string Paint(const std::string& text, Tone tone, bool colour);

struct Cell {
  std::string text;
  Tone tone = Tone::kPlain;
};

enum class Align { kLeft, kRight };

struct Column {
  std::string title;
  Align align = Align::kLeft;
  std::size_t least = 0;  // width to start with, where rows are printed before all are known
};

// Rows in columns, two spaces apart. Widths count characters, not bytes.
class TextTable {
 public:
  explicit TextTable(std::vector<Column> columns);

  void Add(std::vector<Cell> cells);
  std::string Render(bool colour) const;  // header and every row

  // For rows that come one at a time: fixed widths from `least`, longer cells push the rest.
  std::string Header(bool colour) const;
  std::string Row(const std::vector<Cell>& cells, bool colour) const;

 private:
  std::string Line(const std::vector<Cell>& cells, const std::vector<std::size_t>& widths,
                   bool colour) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace pawl
