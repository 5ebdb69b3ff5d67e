// TextCursor: reads the text of flows and actions from left to right, and says where it stopped making sense.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice {

class TextCursor {
 public:
  // `text` must outlive the cursor.
  explicit TextCursor(std::string_view text) : text_(text) {}

  bool AtEnd() const { return position_ == text_.size(); }
  size_t position() const { return position_; }
  char Peek() const { return AtEnd() ? '\0' : text_[position_]; }

  // Goes over `literal` if it is what comes next.
  bool Accept(std::string_view literal);
  // The same, with an error that says that it was expected.
  absl::Status Expect(std::string_view literal);
  // Goes over commas and white space.
  void SkipSeparators();

  // The longest run of characters other than separators, parentheses, '=' and '/'. May be empty.
  std::string_view Word();

  // Decimal, or hexadecimal behind 0x, of at most `max`; the whole word must be the number.
  absl::StatusOr<uint32_t> Number(uint32_t max);
  // Whether the next word reads as a number (of any size).
  bool AtNumber() const;

  // "column 12: 'zz': expected WHAT"; columns count from 1. The first form is about what comes next.
  absl::Status Expected(std::string_view what) const { return ExpectedAt(position_, what); }
  absl::Status ExpectedAt(size_t position, std::string_view what) const;

 private:
  std::string_view WordAt(size_t position) const;

  std::string_view text_;
  size_t position_ = 0;
};

}  // namespace sluice
