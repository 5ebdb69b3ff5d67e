// Values as people type them on the command line (ovs-vsctl(8) "Database Values").
#include <absl/strings/numbers.h>

#include <cmath>

#include "lib/ovsdb/error.h"
#include "lib/ovsdb/json.h"
#include "lib/ovsdb/schema.h"

namespace sluice {
namespace {

using Symbols = std::map<std::string, Uuid, std::less<>>;

// A range of integers may be long, and its text is short.
constexpr int64_t kMaxRange = 1 << 20;

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool IsDelimiter(char c) { return std::string_view(":=, []{}!<>").find(c) != std::string_view::npos; }

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

// What is before and after the '-' of "3-7"; the minus sign of a number is not one.
bool SplitRange(std::string_view token, int64_t* first, int64_t* last) {
  size_t dash = token.find('-', 1);
  if (dash == std::string_view::npos) return false;
  return absl::SimpleAtoi(View(token.substr(0, dash)), first) && absl::SimpleAtoi(View(token.substr(dash + 1)), last);
}

absl::StatusOr<Atom> BooleanFromText(std::string_view token) {
  if (token == "true" || token == "yes" || token == "on" || token == "1") return Atom(true);
  if (token == "false" || token == "no" || token == "off" || token == "0") return Atom(false);
  return InvalidArgument("\"{}\" is not a valid boolean (use \"true\" or \"false\")", token);
}

absl::StatusOr<Atom> RealFromText(std::string_view token) {
  double real;
  if (!absl::SimpleAtod(View(token), &real) || !std::isfinite(real)) {
    return InvalidArgument("\"{}\" is not a valid real number", token);
  }
  return Atom(real);
}

absl::StatusOr<Atom> StringFromText(std::string_view token) {
  if (token.empty()) {
    return InvalidArgument("An empty string is not valid as input; use \"\" to represent the empty string");
  }
  if (token[0] != '"') return Atom(std::string(token));
  absl::StatusOr<Json> json = ParseJson(token);
  if (!json.ok() || !json->is_string()) return InvalidArgument("{}: is not a valid quoted string", token);
  return Atom(json->get<std::string>());
}

absl::StatusOr<Atom> UuidFromText(std::string_view token, Symbols* symbols) {
  if (!token.empty() && token[0] == '@' && symbols != nullptr) {
    auto [found, added] = symbols->try_emplace(std::string(token));
    if (added) found->second = Uuid::Random();
    return Atom(found->second);
  }
  absl::StatusOr<Uuid> uuid = Uuid::Parse(token);
  if (!uuid.ok()) return uuid.status();
  return Atom(*uuid);
}

class TextParser {
 public:
  TextParser(const ColumnType& type, std::string_view text, Symbols* symbols)
      : type_(type), text_(text), rest_(text), symbols_(symbols) {}

  absl::StatusOr<Datum> Run() {
    SkipSpaces();
    char close = 0;
    if (!rest_.empty() && rest_[0] == (type_.is_map() ? '{' : '[')) {
      close = type_.is_map() ? '}' : ']';
      Advance();
    }
    while (!rest_.empty() && rest_[0] != close) SLUICE_RETURN_IF_ERROR(Element());
    if (close != 0) SLUICE_RETURN_IF_ERROR(Close(close));
    SLUICE_RETURN_IF_ERROR(CheckCount());
    if (datum_.Normalize(type_.is_map())) {
      return InvalidArgument("{}: {}", text_,
                             type_.is_map() ? "map contains duplicate key" : "set contains duplicate value");
    }
    return std::move(datum_);
  }

 private:
  void SkipSpaces() {
    while (!rest_.empty() && IsSpace(rest_[0])) rest_.remove_prefix(1);
  }
  void Advance() {
    rest_.remove_prefix(1);
    SkipSpaces();
  }

  absl::Status Element() {
    if (IsDelimiter(rest_[0])) {
      return InvalidArgument("{}: unexpected \"{}\" parsing {}", text_, rest_[0], type_.ToEnglish());
    }
    absl::StatusOr<std::string_view> token = Token();
    if (!token.ok()) return token.status();
    if (type_.is_map()) {
      SLUICE_RETURN_IF_ERROR(Pair(*token));
    } else {
      SLUICE_RETURN_IF_ERROR(Keys(*token));
    }
    SkipSpaces();
    if (!rest_.empty() && rest_[0] == ',') Advance();
    return absl::OkStatus();
  }

  // Up to the next delimiter, or a whole quoted string with its quotes.
  absl::StatusOr<std::string_view> Token() {
    size_t end = 0;
    if (rest_[0] == '"') {
      for (end = 1; end < rest_.size() && rest_[end] != '"'; ++end) {
        if (rest_[end] == '\\') ++end;
      }
      if (end >= rest_.size()) return InvalidArgument("{}: missing quote at end of quoted string", rest_);
      ++end;
    } else {
      while (end < rest_.size() && !IsDelimiter(rest_[end]) && !IsSpace(rest_[end])) ++end;
    }
    std::string_view token = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return token;
  }

  absl::Status Pair(std::string_view key_token) {
    absl::StatusOr<Atom> key = ParseAtom(type_.key, key_token);
    if (!key.ok()) return key.status();
    SkipSpaces();
    if (rest_.empty() || rest_[0] != '=') {
      return InvalidArgument("{}: syntax error at \"{}\" expecting \"=\"", text_, rest_);
    }
    Advance();
    if (rest_.empty() || IsDelimiter(rest_[0])) {
      return InvalidArgument("{}: a value must follow the \"=\" after key {}", text_, key_token);
    }
    absl::StatusOr<std::string_view> value_token = Token();
    if (!value_token.ok()) return value_token.status();
    absl::StatusOr<Atom> value = ParseAtom(*type_.value, *value_token);
    if (!value.ok()) return value.status();
    datum_.keys.push_back(*std::move(key));
    datum_.values.push_back(*std::move(value));
    return absl::OkStatus();
  }

  absl::Status Keys(std::string_view token) {
    int64_t first = 0;
    int64_t last = 0;
    if (type_.key.type != AtomType::kInteger || !SplitRange(token, &first, &last)) {
      absl::StatusOr<Atom> atom = ParseAtom(type_.key, token);
      if (!atom.ok()) return atom.status();
      datum_.keys.push_back(*std::move(atom));
      return absl::OkStatus();
    }
    if (last < first) {
      return InvalidArgument("\"{}\" is not a valid range. Range end cannot be before start.", token);
    }
    if (static_cast<uint64_t>(last) - static_cast<uint64_t>(first) >= kMaxRange) {
      return InvalidArgument("\"{}\" is not a valid range. It has more than {} integers.", token, kMaxRange);
    }
    for (int64_t number = first;; ++number) {
      SLUICE_RETURN_IF_ERROR(type_.key.Check(Atom(number)));
      datum_.keys.push_back(Atom(number));
      if (number == last) return absl::OkStatus();
    }
  }

  absl::StatusOr<Atom> ParseAtom(const BaseType& base, std::string_view token) {
    absl::StatusOr<Atom> atom = ParseUnchecked(base, token);
    if (!atom.ok()) return atom;
    SLUICE_RETURN_IF_ERROR(base.Check(*atom));
    return atom;
  }

  absl::StatusOr<Atom> ParseUnchecked(const BaseType& base, std::string_view token) {
    switch (base.type) {
      case AtomType::kInteger:
        if (int64_t number; absl::SimpleAtoi(View(token), &number)) return Atom(number);
        return InvalidArgument("\"{}\" is not a valid integer or range", token);
      case AtomType::kReal:
        return RealFromText(token);
      case AtomType::kBoolean:
        return BooleanFromText(token);
      case AtomType::kString:
        return StringFromText(token);
      case AtomType::kUuid:
        return UuidFromText(token, symbols_);
    }
    return InvalidArgument("\"{}\" is of no known type", token);
  }

  absl::Status Close(char close) {
    if (rest_.empty()) return InvalidArgument("{}: missing \"{}\" at end of data", text_, close);
    Advance();
    if (!rest_.empty()) return InvalidArgument("{}: trailing garbage after \"{}\"", text_, close);
    return absl::OkStatus();
  }

  absl::Status CheckCount() {
    std::string_view kind = type_.is_map() ? "pair(s)" : "value(s)";
    if (datum_.size() < type_.min) {
      return InvalidArgument("{}: {} {} specified but the minimum number is {}", text_, datum_.size(), kind, type_.min);
    }
    if (datum_.size() > type_.max) {
      return InvalidArgument("{}: {} {} specified but the maximum number is {}", text_, datum_.size(), kind, type_.max);
    }
    return absl::OkStatus();
  }

  const ColumnType& type_;
  std::string_view text_;
  std::string_view rest_;
  Symbols* symbols_;
  Datum datum_;
};

}  // namespace

absl::StatusOr<Datum> ColumnType::ParseText(std::string_view text, Symbols* symbols) const {
  return TextParser(*this, text, symbols).Run();
}

}  // namespace sluice
