#include "lib/flow/text_cursor.h"

#include <charconv>

#include "lib/base/status.h"

namespace sluice {
namespace {

constexpr std::string_view kSeparators = ", \t\r\n";
constexpr std::string_view kWordEnds = ", \t\r\n()=/";
constexpr size_t kLongestQuote = 40;  // of the user's text in an error

bool ParseNumber(std::string_view word, uint64_t& value) {
  int base = 10;
  if (word.substr(0, 2) == "0x" || word.substr(0, 2) == "0X") {
    base = 16;
    word.remove_prefix(2);
  }
  auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value, base);
  if (error == std::errc::result_out_of_range) value = UINT64_MAX;
  return error != std::errc::invalid_argument && end == word.data() + word.size();
}

}  // namespace

bool TextCursor::Accept(std::string_view literal) {
  if (text_.substr(position_, literal.size()) != literal) return false;
  position_ += literal.size();
  return true;
}

absl::Status TextCursor::Expect(std::string_view literal) {
  if (Accept(literal)) return absl::OkStatus();
  return Expected(fmt::format("'{}'", literal));
}

void TextCursor::SkipSeparators() {
  size_t next = text_.find_first_not_of(kSeparators, position_);
  position_ = next == std::string_view::npos ? text_.size() : next;
}

std::string_view TextCursor::WordAt(size_t position) const {
  size_t end = text_.find_first_of(kWordEnds, position);
  return text_.substr(position, end == std::string_view::npos ? std::string_view::npos : end - position);
}

std::string_view TextCursor::Word() {
  std::string_view word = WordAt(position_);
  position_ += word.size();
  return word;
}

absl::StatusOr<uint32_t> TextCursor::Number(uint32_t max) {
  uint64_t value = 0;
  std::string_view word = WordAt(position_);
  if (!ParseNumber(word, value) || value > max) return Expected(fmt::format("a number from 0 to {}", max));
  position_ += word.size();
  return static_cast<uint32_t>(value);
}

bool TextCursor::AtNumber() const {
  uint64_t value;
  return ParseNumber(WordAt(position_), value);
}

absl::Status TextCursor::ExpectedAt(size_t position, std::string_view what) const {
  if (position >= text_.size()) return InvalidArgument("column {}: end of text: expected {}", position + 1, what);
  std::string_view word = WordAt(position);
  if (word.empty()) word = text_.substr(position, 1);
  if (word.size() > kLongestQuote) word = word.substr(0, kLongestQuote);
  return InvalidArgument("column {}: '{}': expected {}", position + 1, word, what);
}

}  // namespace sluice
