#include "tests/support/draw.h"

namespace pawl::test {
namespace {

using rc::gen::arbitrary;
using rc::gen::elementOf;
using rc::gen::exec;
using rc::gen::just;
using rc::gen::weightedOneOf;

}  // namespace

rc::Gen<double> NotNegative() {
  return weightedOneOf<double>({{3, AnyPositive()}, {1, just(0.0)}});
}

rc::Gen<std::string> Letters(std::string alphabet, std::size_t low, std::size_t high) {
  return rc::gen::map(ListOf<std::size_t>(Within<std::size_t>(0, alphabet.size() - 1), low, high),
                      [=](const std::vector<std::size_t>& indices) {
                        std::string text;
                        for (const std::size_t index : indices) text += alphabet[index];
                        return text;
                      });
}

rc::Gen<std::string> Identifier() { return Letters("abcxyzABCXYZ_", 1, 20); }

rc::Gen<std::string> FileName() { return Letters("abcXYZ019_-+", 1, 40); }

rc::Gen<std::string> HexId() {
  return rc::gen::map(AnyDigest(), [](const Digest& digest) { return digest.Hex().substr(0, 32); });
}

rc::Gen<std::string> WordOrNothing() {
  return weightedOneOf<std::string>({{4, AnyWord()}, {1, just(std::string())}});
}

rc::Gen<std::string> NotEmptyLine() { return Letters("abcXYZ019 .:;=<>()%", 1, 100); }

std::string Distinct(const std::string& name, std::size_t number) {
  return name.substr(0, 100) + "_" + std::to_string(number);
}

rc::Gen<std::string> AnyWord() {
  return Letters("abcdefghijklmnopqrstuvwxyzABCXYZ0123456789_-./:+*", 1, 128);
}

rc::Gen<std::string> AnyLine() {
  // Characters of one, two, three and four bytes, and the edges between them.
  static const std::vector<std::string> kCharacters = {"a",
                                                       "Z",
                                                       " ",
                                                       "~",
                                                       "'",
                                                       "\"",
                                                       "\\",
                                                       "\xc2\xa0",
                                                       "\xc3\xa9",
                                                       "\xdf\xbf",
                                                       "\xe0\xa0\x80",
                                                       "\xe2\x80\x98",
                                                       "\xef\xbf\xbd",
                                                       "\xf0\x90\x80\x80",
                                                       "\xf4\x8f\xbf\xbf"};
  return rc::gen::map(ListOf<std::size_t>(Within<std::size_t>(0, kCharacters.size() - 1), 0, 1024),
                      [](const std::vector<std::size_t>& indices) {
                        std::string text;
                        for (const std::size_t index : indices) text += kCharacters[index];
                        return text;
                      });
}

rc::Gen<double> AnyFinite() {
  using Limits = std::numeric_limits<double>;
  return weightedOneOf<double>(
      {{3, arbitrary<double>()},
       {1, elementOf(std::vector<double>{0.0, -0.0, 1.0, -1.0, Limits::min(), Limits::max(),
                                         Limits::lowest(), Limits::denorm_min(),
                                         1 + Limits::epsilon(), 0.1})}});
}

rc::Gen<double> AnyPositive() {
  return rc::gen::map(AnyFinite(),
                      [](double number) { return number == 0 ? 1.0 : std::abs(number); });
}

rc::Gen<Digest> AnyDigest() {
  return rc::gen::map(arbitrary<std::uint64_t>(), [](std::uint64_t seed) {
    return seed % 8 == 0 ? Digest{} : Sha256(std::to_string(seed));
  });
}

rc::Gen<KnobValue> AnyKnobValue() {
  return exec([]() -> KnobValue {
    switch (*rc::gen::inRange(0, 4)) {
      case 0:
        return *arbitrary<bool>();
      case 1:
        return *AnyInteger<std::int64_t>();
      case 2:
        return *AnyWord();
      default:
        return *ListOf<std::int64_t>(AnyInteger<std::int64_t>(), 1, 8);
    }
  });
}

rc::Gen<Configuration> AnyConfiguration() {
  return exec([] {
    Configuration configuration;
    configuration.settings.resize(*Within<std::size_t>(0, 6));
    for (std::size_t i = 0; i < configuration.settings.size(); ++i) {
      configuration.settings[i] = {Distinct(*AnyWord(), i), *AnyKnobValue()};
    }
    return configuration;
  });
}

}  // namespace pawl::test
