#include "kernels/expression.h"

#include <muParser.h>

#include <algorithm>
#include <utility>

#include "kernels/document.h"

namespace pawl {
namespace {

constexpr std::size_t kLongestText = 2000;
constexpr int kDeepest = 100;

// Thrown by the operators below through muParser and caught in Evaluate: the only way out of it.
struct Failure {
  std::string what;
};

double Exact(std::int64_t value, std::string_view what) {
  if (value > kLargestValue || value < -kLargestValue) {
    throw Failure{std::string(what) + " goes past 2^53"};
  }
  return static_cast<double>(value);
}

std::int64_t Whole(double value) { return static_cast<std::int64_t>(value); }

std::int64_t Divisor(double value) {
  if (value == 0) throw Failure{"division by zero"};
  return Whole(value);
}

double Add(double a, double b) { return Exact(Whole(a) + Whole(b), "a sum"); }
double Subtract(double a, double b) { return Exact(Whole(a) - Whole(b), "a difference"); }
double Multiply(double a, double b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(Whole(a), Whole(b), &product)) product = kLargestValue + 1;
  return Exact(product, "a product");
}
double Divide(double a, double b) { return static_cast<double>(Whole(a) / Divisor(b)); }
double Remainder(double a, double b) { return static_cast<double>(Whole(a) % Divisor(b)); }
double CeilDiv(double a, double b) {
  const std::int64_t divisor = Divisor(b);
  const std::int64_t quotient = Whole(a) / divisor;
  const bool rounded_down = Whole(a) % divisor != 0 && (a < 0) == (b < 0);
  return static_cast<double>(quotient + (rounded_down ? 1 : 0));
}
double Equal(double a, double b) { return a == b ? 1 : 0; }
double Differ(double a, double b) { return a != b ? 1 : 0; }
double Less(double a, double b) { return a < b ? 1 : 0; }
double LessEqual(double a, double b) { return a <= b ? 1 : 0; }
double Minimum(double a, double b) { return std::min(a, b); }
double Maximum(double a, double b) { return std::max(a, b); }
double Negate(double a) { return a == 0 ? 0 : -a; }
double Not(double a) { return a == 0 ? 1 : 0; }

struct Token {
  enum class Kind { kNumber, kName, kWord, kSign, kEnd };
  Kind kind = Kind::kEnd;
  std::string text;
  std::size_t column = 0;  // from 1
};

bool IsNameStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

Result<std::vector<Token>> Tokens(std::string_view text) {
  std::vector<Token> tokens;
  std::size_t at = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      ++at;
      continue;
    }
    const std::size_t begin = at;
    Token::Kind kind = Token::Kind::kSign;
    if (IsDigit(c)) {
      kind = Token::Kind::kNumber;
      while (at < text.size() && (IsDigit(text[at]) || IsNameStart(text[at]) || text[at] == '.'))
        ++at;
      const std::string_view number = text.substr(begin, at - begin);
      if (!std::all_of(number.begin(), number.end(), IsDigit)) {
        return Error{"'" + std::string(number) + "' is not a whole decimal number"};
      }
      if (number.size() > 16 || std::stoll(std::string(number)) > kLargestValue) {
        return Error{"number " + std::string(number) + " is past 2^53"};
      }
    } else if (IsNameStart(c)) {
      kind = Token::Kind::kName;
      while (at < text.size() && (IsDigit(text[at]) || IsNameStart(text[at]) || text[at] == '.'))
        ++at;
    } else if (c == '\'' || c == '"') {
      const std::size_t end = text.find(c, at + 1);
      if (end == std::string_view::npos) return Error{"a word has no closing quote"};
      tokens.push_back(
          {Token::Kind::kWord, std::string(text.substr(at + 1, end - at - 1)), at + 1});
      at = end + 1;
      continue;
    } else {
      static constexpr std::string_view kPairs[] = {"||", "&&", "==", "!=", "<=", ">="};
      const auto pair = std::find(std::begin(kPairs), std::end(kPairs), text.substr(at, 2));
      if (pair == std::end(kPairs)) {
        if (c == '=') return Error{"'=' assigns, which nothing here does; '==' compares"};
        if (c == '&' || c == '|') {
          return Error{"'" + std::string(1, c) + "' is not an operator; '" + std::string(2, c) +
                       "' is"};
        }
        if (std::string_view("?:<>+-*/%!(),").find(c) == std::string_view::npos) {
          const bool printable = c > ' ' && c < 127;
          return Error{"unexpected character " + (printable
                                                      ? "'" + std::string(1, c) + "'"
                                                      : "of code " + std::to_string(c & 255))};
        }
      }
      at += pair == std::end(kPairs) ? 1 : 2;
    }
    tokens.push_back({kind, std::string(text.substr(begin, at - begin)), begin + 1});
  }
  tokens.push_back({Token::Kind::kEnd, "the end", text.size() + 1});
  return tokens;
}

// What a part of an expression was rewritten to: nested calls and ?: that muParser reads without
// any operator of its own, so that its reading of precedence, `/`, `=` and `&&` never matters.
struct Part {
  std::string code;
  std::string text;                 // as written, of words and word-valued names
  bool is_word = false;             // can only be compared
  std::optional<std::size_t> slot;  // of a word-valued name
};

class Reader {
 public:
  Reader(std::vector<Token> tokens, Scope& scope) : tokens_(std::move(tokens)), scope_(scope) {}

  Result<std::string> Read() {
    Result<Part> part = Choice();
    if (!part) return part.error();
    if (part->is_word) return NotANumber(*part);
    if (Now().kind != Token::Kind::kEnd) return Unexpected("an operator");
    return part->code;
  }
  const std::vector<std::size_t>& slots() const { return slots_; }

 private:
  const Token& Now() const { return tokens_[at_]; }
  bool Sees(std::string_view sign) const {
    return Now().kind == Token::Kind::kSign && Now().text == sign;
  }
  bool Take(std::string_view sign) {
    const bool taken = Sees(sign);
    if (taken) ++at_;
    return taken;
  }
  Error Unexpected(std::string_view wanted) const {
    const bool end = Now().kind == Token::Kind::kEnd;
    return Error{(end ? std::string("it ends too early") : "unexpected '" + Now().text + "'") +
                 " at column " + std::to_string(Now().column) + "; " + std::string(wanted) +
                 " is wanted there"};
  }
  static Error NotANumber(const Part& part) {
    return Error{part.text + " is a word: it can only be compared with == or !="};
  }

  Result<Part> Choice() {
    if (++depth_ > kDeepest) return Error{"it is nested too deeply"};
    Result<Part> condition = Either();
    if (!condition || !Take("?")) {
      --depth_;
      return condition;
    }
    if (condition->is_word) return NotANumber(*condition);
    Result<Part> yes = Choice();
    if (!yes) return yes;
    if (yes->is_word) return NotANumber(*yes);
    if (!Take(":")) return Unexpected("':'");
    Result<Part> no = Choice();
    if (!no) return no;
    if (no->is_word) return NotANumber(*no);
    --depth_;
    return Part{
        "((" + condition->code + ")?(" + yes->code + "):(" + no->code + "))", {}, false, {}};
  }

  // || and && become ?:, which evaluates only the side that is asked for.
  Result<Part> Either() {
    Result<Part> left = Both();
    while (left && Take("||")) {
      if (left->is_word) return NotANumber(*left);
      const Result<Part> right = Both();
      if (!right) return right;
      if (right->is_word) return NotANumber(*right);
      left->code = "((" + left->code + ")?1:differ(" + right->code + ",0))";
    }
    return left;
  }
  Result<Part> Both() {
    Result<Part> left = Equality();
    while (left && Take("&&")) {
      if (left->is_word) return NotANumber(*left);
      const Result<Part> right = Equality();
      if (!right) return right;
      if (right->is_word) return NotANumber(*right);
      left->code = "((" + left->code + ")?differ(" + right->code + ",0):0)";
    }
    return left;
  }

  Result<Part> Equality() {
    Result<Part> left = Order();
    if (!left) return left;
    const bool equal = Take("==");
    if (!equal && !Take("!=")) return left;
    const Result<Part> right = Order();
    if (!right) return right;
    const Status comparable = Comparable(*left, *right);
    if (!comparable) return comparable.error();
    if (Sees("==") || Sees("!=")) return Chained();
    return Call(equal ? "equal" : "differ", *left, *right);
  }
  Result<Part> Order() {
    Result<Part> left = Sum();
    if (!left) return left;
    const std::string sign = Now().kind == Token::Kind::kSign ? Now().text : "";
    if (sign != "<" && sign != "<=" && sign != ">" && sign != ">=") return left;
    ++at_;
    const Result<Part> right = Sum();
    if (!right) return right;
    if (left->is_word) return NotANumber(*left);
    if (right->is_word) return NotANumber(*right);
    if (Sees("<") || Sees("<=") || Sees(">") || Sees(">=")) return Chained();
    const std::string name = sign.size() == 2 ? "less_equal" : "less";
    return sign[0] == '<' ? Call(name, *left, *right) : Call(name, *right, *left);
  }
  static Error Chained() { return Error{"comparisons do not chain; write 'a < b && b < c'"}; }

  Result<Part> Sum() {
    Result<Part> left = Product();
    while (left && Now().kind == Token::Kind::kSign) {
      const bool add = Now().text == "+";
      if (!add && Now().text != "-") break;
      ++at_;
      left = Arithmetic(add ? "add" : "subtract", *left, Product());
    }
    return left;
  }
  Result<Part> Product() {
    Result<Part> left = Unary();
    while (left && Now().kind == Token::Kind::kSign) {
      const std::string& sign = Now().text;
      const char* name = sign == "*"   ? "multiply"
                         : sign == "/" ? "divide"
                         : sign == "%" ? "remainder"
                                       : nullptr;
      if (name == nullptr) break;
      ++at_;
      left = Arithmetic(name, *left, Unary());
    }
    return left;
  }
  Result<Part> Unary() {
    const bool negate = Take("-");
    if (!negate && !Take("!")) return Primary();
    if (++depth_ > kDeepest) return Error{"it is nested too deeply"};
    const Result<Part> operand = Unary();
    --depth_;
    if (!operand) return operand;
    if (operand->is_word) return NotANumber(*operand);
    return Part{(negate ? "negate(" : "not(") + operand->code + ")", {}, false, {}};
  }

  Result<Part> Primary() {
    const Token token = Now();
    switch (token.kind) {
      case Token::Kind::kNumber:
        ++at_;
        return Part{token.text, {}, false, {}};
      case Token::Kind::kWord:
        ++at_;
        return Part{std::to_string(scope_.Word(token.text)), "'" + token.text + "'", true, {}};
      case Token::Kind::kName:
        ++at_;
        return Name(token);
      default:
        break;
    }
    if (!Take("(")) return Unexpected("a number, a name or '('");
    Result<Part> inner = Choice();
    if (!inner) return inner;
    if (!Take(")")) return Unexpected("')'");
    return inner;
  }

  Result<Part> Name(const Token& token) {
    const std::string& name = token.text;
    if (name == "true" || name == "false") return Part{name == "true" ? "1" : "0", {}, false, {}};
    if (Sees("(")) return Function(name);
    const std::optional<std::size_t> slot = scope_.Find(name);
    if (!slot) return UnknownName(name);
    if (std::find(slots_.begin(), slots_.end(), *slot) == slots_.end()) slots_.push_back(*slot);
    const bool is_word = scope_.WordsOf(*slot) != nullptr;
    return Part{"v" + std::to_string(*slot), name, is_word,
                is_word ? slot : std::optional<std::size_t>{}};
  }

  Error UnknownName(const std::string& name) const {
    if (name == "and" || name == "or" || name == "not") {
      const char* sign = name == "and" ? "&&" : name == "or" ? "||" : "!";
      return Error{"'" + name + "' is not an operator; '" + sign + "' is"};
    }
    std::string message = "unknown name '" + name + "'";
    const std::string nearest = Nearest(name, scope_.names());
    if (!nearest.empty()) message += "; nearest is '" + nearest + "'";
    message += "; known are";
    for (const std::string& known : scope_.names()) {
      message += (&known == &scope_.names().front() ? " " : ", ") + known;
    }
    return Error{message + (scope_.names().empty() ? " none" : "")};
  }

  Result<Part> Function(const std::string& name) {
    const char* code = name == "min"        ? "minimum"
                       : name == "max"      ? "maximum"
                       : name == "ceil_div" ? "ceil_div"
                                            : nullptr;
    if (code == nullptr) {
      return Error{"unknown function '" + name + "'; known are min, max, ceil_div"};
    }
    ++at_;  // the parenthesis
    std::vector<Part> arguments;
    do {
      Result<Part> argument = Choice();
      if (!argument) return argument;
      if (argument->is_word) return NotANumber(*argument);
      arguments.push_back(std::move(*argument));
    } while (Take(","));
    if (!Take(")")) return Unexpected("',' or ')'");
    if (arguments.size() < 2 || (name == "ceil_div" && arguments.size() > 2)) {
      return Error{name + " takes " + (name == "ceil_div" ? "two" : "two or more") +
                   " arguments, not " + std::to_string(arguments.size())};
    }
    Part call = arguments.front();
    for (std::size_t i = 1; i < arguments.size(); ++i) call = Call(code, call, arguments[i]);
    return call;
  }

  static Part Call(std::string_view name, const Part& left, const Part& right) {
    return Part{std::string(name) + "(" + left.code + "," + right.code + ")", {}, false, {}};
  }
  static Result<Part> Arithmetic(std::string_view name, const Part& left,
                                 const Result<Part>& right) {
    if (!right) return right;
    if (left.is_word) return NotANumber(left);
    if (right->is_word) return NotANumber(*right);
    return Call(name, left, *right);
  }

  // Words with words; and a word that the name can never be is a slip of the pen.
  Status Comparable(const Part& left, const Part& right) const {
    if (left.is_word != right.is_word) return NotANumber(left.is_word ? left : right);
    if (!left.is_word || left.slot.has_value() == right.slot.has_value()) return {};
    const Part& name = left.slot ? left : right;
    const Part& word = left.slot ? right : left;
    const std::string spelt = word.text.substr(1, word.text.size() - 2);
    const std::vector<std::string>& words = *scope_.WordsOf(*name.slot);
    if (std::find(words.begin(), words.end(), spelt) != words.end()) return {};
    std::string message = name.text + " is never " + word.text;
    const std::string nearest = Nearest(spelt, words);
    if (!nearest.empty()) message += "; nearest is '" + nearest + "'";
    message += "; its words are";
    for (const std::string& known : words)
      message += (&known == &words.front() ? " " : ", ") + known;
    return Error{message};
  }

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
  Scope& scope_;
  std::vector<std::size_t> slots_;
};

}  // namespace

struct Expression::State {
  std::string text;
  Place place;
  std::vector<std::size_t> slots;
  std::vector<std::string> names;  // of the slots
  std::vector<double> inputs;      // muParser holds pointers into it: never resized after parsing
  mu::Parser parser;
};

Expression::Expression(std::unique_ptr<State> state) : state_(std::move(state)) {}
Expression::Expression(Expression&&) noexcept = default;
Expression& Expression::operator=(Expression&&) noexcept = default;
Expression::~Expression() = default;

Result<Expression> Expression::Parse(std::string_view text, Scope& scope, const Place& place) {
  const auto refuse = [&](const std::string& why) {
    return Error{OneLine(place.Text() + ": in '" + std::string(text.substr(0, 200)) + "': " + why)};
  };
  if (text.size() > kLongestText) {
    return refuse("an expression of " + std::to_string(text.size()) + " characters; at most " +
                  std::to_string(kLongestText) + " are taken");
  }
  Result<std::vector<Token>> tokens = Tokens(text);
  if (!tokens) return refuse(tokens.error().message);
  Reader reader(std::move(*tokens), scope);
  const Result<std::string> code = reader.Read();
  if (!code) return refuse(code.error().message);

  auto state = std::make_unique<State>();
  state->text = text;
  state->place = place;
  state->slots = reader.slots();
  state->inputs.resize(state->slots.size());
  try {
    mu::Parser& parser = state->parser;
    parser.ClearFun();
    parser.ClearConst();
    parser.ClearInfixOprt();
    parser.ClearPostfixOprt();
    parser.EnableBuiltInOprt(false);
    // `false`: not folded while parsing, where a division by zero in a branch not taken would
    // throw.
    parser.DefineFun("add", Add, false);
    parser.DefineFun("subtract", Subtract, false);
    parser.DefineFun("multiply", Multiply, false);
    parser.DefineFun("divide", Divide, false);
    parser.DefineFun("remainder", Remainder, false);
    parser.DefineFun("ceil_div", CeilDiv, false);
    parser.DefineFun("equal", Equal, false);
    parser.DefineFun("differ", Differ, false);
    parser.DefineFun("less", Less, false);
    parser.DefineFun("less_equal", LessEqual, false);
    parser.DefineFun("minimum", Minimum, false);
    parser.DefineFun("maximum", Maximum, false);
    parser.DefineFun("negate", Negate, false);
    parser.DefineFun("not", Not, false);
    for (std::size_t i = 0; i < state->slots.size(); ++i) {
      state->names.push_back(scope.names()[state->slots[i]]);
      parser.DefineVar("v" + std::to_string(state->slots[i]), &state->inputs[i]);
    }
    parser.SetExpr(*code);
    parser.Eval();  // muParser compiles at the first evaluation
  } catch (const Failure&) {
    // Of the zeros it was compiled with; what counts is Evaluate.
  } catch (const mu::Parser::exception_type& failed) {
    return refuse("too long or too deep for the evaluator (" + failed.GetMsg() + ")");
  }
  return Expression(std::move(state));
}

Result<std::int64_t> Expression::Evaluate(const std::vector<std::int64_t>& values) const {
  State& state = *state_;
  try {
    for (std::size_t i = 0; i < state.slots.size(); ++i) {
      const std::int64_t value = values[state.slots[i]];
      state.inputs[i] = Exact(value, state.names[i]);
    }
    return Whole(state.parser.Eval());
  } catch (const Failure& failed) {
    std::string message = state.place.Text() + ": " + failed.what + " in '" + state.text + "'";
    for (std::size_t i = 0; i < state.slots.size(); ++i) {
      message += (i == 0 ? ", where " : ", ") + state.names[i] + " = " +
                 std::to_string(values[state.slots[i]]);
    }
    return Error{OneLine(std::move(message))};
  } catch (const mu::Parser::exception_type& failed) {
    return Error{state.place.Text() + ": in '" + state.text + "': " + failed.GetMsg()};
  }
}

const std::string& Expression::text() const { return state_->text; }
const Place& Expression::place() const { return state_->place; }
const std::vector<std::size_t>& Expression::slots() const { return state_->slots; }

}  // namespace pawl
