// Places, their checks, and text made fit for them.

#include <algorithm>
#include <cstdio>

#include "schema/codec_private.h"

namespace pawl::codec {
namespace {

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsFileCharacter(char c) {
  return IsLetter(c) || IsDigit(c) || c == '.' || c == '-' || c == '+';
}

std::string_view View(capnp::Text::Reader text) { return {text.begin(), text.size()}; }

// For an error message: short, one line, printable.
std::string Quote(std::string_view text) {
  constexpr std::size_t kShown = 40;
  std::string shown = "'";
  for (const char c : text.substr(0, kShown)) {
    if (c >= ' ' && c <= '~') {
      shown += c;
    } else {
      char escaped[5];
      std::snprintf(escaped, sizeof escaped, "\\x%02x", static_cast<unsigned char>(c));
      shown += escaped;
    }
  }
  if (text.size() > kShown) return shown + "...' (" + std::to_string(text.size()) + " bytes)";
  return shown + '\'';
}

std::string Show(double value) {
  char shown[32];
  std::snprintf(shown, sizeof shown, "%.9g", value);
  return shown;
}

// The bytes of the well-formed character in front of `text` (RFC 3629), 0 where there is none.
std::size_t CharacterBytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first < 0xc2   ? 0
                             : first < 0xe0 ? 2
                             : first < 0xf0 ? 3
                             : first < 0xf5 ? 4
                                            : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const bool overlong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  const bool surrogate = first == 0xed && byte(1) >= 0xa0;
  const bool beyond = first == 0xf4 && byte(1) >= 0x90;
  return overlong || surrogate || beyond ? 0 : length;
}

// A character that moves a terminal's cursor or worse: C0, DEL, and C1 (U+0080..U+009F).
bool IsControl(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  return first < 0x20 || first == 0x7f ||
         (first == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0);
}

bool IsBreak(std::string_view character) { return character == "\n" || character == "\t"; }

bool IsFit(std::string_view text, bool breaks) {
  while (!text.empty()) {
    const std::size_t length = CharacterBytes(text);
    if (length == 0) return false;
    const std::string_view character = text.substr(0, length);
    if (IsControl(character) && !(breaks && IsBreak(character))) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string Fit(std::string_view text, bool breaks, std::size_t max_bytes) {
  if (text.size() <= max_bytes && IsFit(text, breaks)) return std::string(text);
  static constexpr std::string_view kCut = "...";
  std::string fit;
  std::size_t whole = 0;  // bytes of `fit` that leave room for kCut
  while (!text.empty() && fit.size() <= max_bytes) {
    const std::size_t length = CharacterBytes(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(length, 1));
    if (length == 0) {
      fit += '?';
    } else if (IsControl(character) && !(breaks && IsBreak(character))) {
      fit += ' ';
    } else {
      fit += character;
    }
    if (fit.size() + kCut.size() <= max_bytes) whole = fit.size();
    text.remove_prefix(character.size());
  }
  if (fit.size() > max_bytes) fit.replace(whole, std::string::npos, kCut);
  return fit;
}

bool IsFileName(std::string_view name) {
  return !name.empty() && name[0] != '.' && std::all_of(name.begin(), name.end(), IsFileCharacter);
}

bool IsWord(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

}  // namespace

std::string FitLine(std::string_view text) { return Fit(text, false, kMaxLineBytes); }
std::string FitLines(std::string_view text) { return Fit(text, true, kMaxLogBytes); }

std::string Place::Path() const {
  if (parent_ == nullptr) return name_;
  if (name_ == nullptr) return parent_->Path() + '[' + std::to_string(index_) + ']';
  return parent_->Path() + '.' + name_;
}

void Place::Refuse(std::string_view seen, std::string_view allowed) const {
  if (failed()) return;
  std::string text = Path();
  text.append(" is ").append(seen).append("; allowed: ").append(allowed);
  *problem_ = std::move(text);
}

void Place::RefuseNumber(const std::string& seen, const std::string& low,
                         const std::string& high) const {
  Refuse(seen, low == high ? low : low + " to " + high);
}

std::uint32_t Place::Index(std::uint32_t value, std::size_t count, const char* what) const {
  if (value < count) return value;
  Refuse(std::to_string(value), "an index into " + std::to_string(count) + ' ' + what);
  return 0;
}

double Place::Finite(double value) const {
  if (std::isfinite(value)) return value;
  Refuse(Show(value), "a finite number");
  return 0;
}

double Place::Positive(double value) const {
  if (std::isfinite(value) && value > 0) return value;
  Refuse(Show(value), "a finite number above 0");
  return 1;
}

double Place::NotNegative(double value) const {
  if (std::isfinite(value) && value >= 0) return value;
  Refuse(Show(value), "0 or a finite number above it");
  return 0;
}

double Place::NotNegativeOrInfinite(double value) const {
  if (value >= 0) return value;
  Refuse(Show(value), "0 or above, infinity included");
  return 0;
}

std::size_t Place::Count(std::size_t count, std::size_t low, std::size_t high) const {
  if (count >= low && count <= high) return count;
  Refuse("a list of " + std::to_string(count), std::to_string(low) + " to " + std::to_string(high));
  return 0;
}

std::uint16_t Place::Enumerator(std::uint16_t value, std::uint16_t last) const {
  if (value <= last) return value;
  Refuse("enumerator " + std::to_string(value), "0 to " + std::to_string(last));
  return 0;
}

std::string Place::Identifier(capnp::Text::Reader text) const {
  const std::string_view name = View(text);
  const bool good =
      !name.empty() && name.size() <= kMaxNameBytes && !IsDigit(name[0]) &&
      std::all_of(name.begin(), name.end(), [](char c) { return IsLetter(c) || IsDigit(c); });
  if (!good) Refuse(Quote(name), "an identifier of 1 to 128 letters, digits and '_'");
  return std::string(name);
}

std::string Place::Word(capnp::Text::Reader text) const {
  const std::string_view word = View(text);
  if (word.empty() || word.size() > kMaxNameBytes || !IsWord(word)) {
    Refuse(Quote(word), "1 to 128 printable characters without blanks");
  }
  return std::string(word);
}

std::string Place::WordOrNothing(capnp::Text::Reader text) const {
  return text.size() == 0 ? std::string() : Word(text);
}

std::string Place::FileName(capnp::Text::Reader text) const {
  const std::string_view name = View(text);
  if (name.size() > kMaxNameBytes || !IsFileName(name)) {
    Refuse(Quote(name),
           "a file name of 1 to 128 letters, digits and any of '._+-', no '.' in front");
  }
  return std::string(name);
}

std::string Place::FilePath(capnp::Text::Reader text) const {
  const std::string_view path = View(text);
  bool good = path.size() <= kMaxLineBytes;
  for (std::size_t begin = 0; good;) {
    const std::size_t slash = path.find('/', begin);
    good = IsFileName(path.substr(begin, slash - begin));
    if (slash == std::string_view::npos) break;
    begin = slash + 1;
  }
  if (!good) Refuse(Quote(path), "a relative path of file names with '/' between them");
  return std::string(path);
}

std::string Place::LedgerName(capnp::Text::Reader text) const {
  const std::string_view name = View(text);
  const bool good = name.size() == 32 && std::all_of(name.begin(), name.end(), [](char c) {
                      return IsDigit(c) || (c >= 'a' && c <= 'f');
                    });
  if (!good) Refuse(Quote(name), "32 lower-case hex digits");
  return std::string(name);
}

std::string Place::Line(capnp::Text::Reader text) const {
  const std::string_view line = View(text);
  if (line.size() > kMaxLineBytes || !IsFit(line, false)) {
    Refuse(Quote(line), "one line of at most 4096 bytes of UTF-8");
  }
  return std::string(line);
}

std::string Place::NotEmptyLine(capnp::Text::Reader text) const {
  if (text.size() == 0) Refuse("empty", "one line of 1 to 4096 bytes of UTF-8");
  return Line(text);
}

std::string Place::Lines(capnp::Text::Reader text) const {
  const std::string_view lines = View(text);
  if (lines.size() > kMaxLogBytes || !IsFit(lines, true)) {
    Refuse(Quote(lines), "at most 4096 bytes of UTF-8 text");
  }
  return std::string(lines);
}

std::string Place::Bytes(capnp::Data::Reader bytes, std::size_t most) const {
  if (bytes.size() > most) {
    Refuse(std::to_string(bytes.size()) + " bytes", "at most " + std::to_string(most));
    return {};
  }
  return std::string(reinterpret_cast<const char*>(bytes.begin()), bytes.size());
}

Digest Place::AnyDigest(capnp::Data::Reader bytes) const {
  Digest digest;
  if (bytes.size() == digest.bytes.size()) {
    std::copy(bytes.begin(), bytes.end(), digest.bytes.begin());
  } else if (bytes.size() != 0) {
    Refuse(std::to_string(bytes.size()) + " bytes", "0 or 32");
  }
  return digest;
}

}  // namespace pawl::codec
