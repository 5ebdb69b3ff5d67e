// WireReader and WireWriter: OpenFlow structures as bytes, in network byte order (OpenFlow 1.5.1, 7.1).
#pragma once

#include <absl/types/span.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace sluice {

using Bytes = absl::Span<const uint8_t>;

inline Bytes AsBytes(std::string_view text) { return {reinterpret_cast<const uint8_t*>(text.data()), text.size()}; }

// Reads from left to right. Reading beyond the end gives zeros and makes ok() false for good, so that a decoder may
// read a structure whole and ask once.
class WireReader {
 public:
  explicit WireReader(Bytes bytes) : bytes_(bytes) {}

  bool ok() const { return ok_; }
  size_t position() const { return position_; }
  size_t left() const { return bytes_.size() - position_; }
  bool AtEnd() const { return left() == 0; }

  uint8_t U8() { return static_cast<uint8_t>(Integer(1)); }
  uint16_t U16() { return static_cast<uint16_t>(Integer(2)); }
  uint32_t U32() { return static_cast<uint32_t>(Integer(4)); }
  uint64_t U64() { return Integer(8); }
  // Goes over padding.
  void Skip(size_t size) { Take(size); }
  // The next `size` bytes; empty if there are not so many.
  Bytes Take(size_t size) {
    if (size > left()) {
      ok_ = false;
      position_ = bytes_.size();
      return {};
    }
    Bytes taken = bytes_.subspan(position_, size);
    position_ += size;
    return taken;
  }
  Bytes Rest() { return Take(left()); }
  // A fixed-size field of text: up to the first NUL.
  std::string FixedText(size_t size) {
    Bytes field = Take(size);
    std::string_view text(reinterpret_cast<const char*>(field.data()), field.size());
    return std::string(text.substr(0, text.find('\0')));
  }
  template <typename Array>
  void Copy(Array& out) {
    Bytes taken = Take(sizeof out);
    if (!taken.empty()) std::memcpy(&out, taken.data(), sizeof out);
  }

 private:
  uint64_t Integer(size_t size) {
    uint64_t value = 0;
    for (uint8_t byte : Take(size)) value = value << 8 | byte;
    return value;
  }

  Bytes bytes_;
  size_t position_ = 0;
  bool ok_ = true;
};

// Appends to a string of bytes.
class WireWriter {
 public:
  WireWriter() = default;

  size_t size() const { return bytes_.size(); }
  const std::string& bytes() const { return bytes_; }
  std::string Release() { return std::move(bytes_); }

  void U8(uint8_t value) { bytes_.push_back(static_cast<char>(value)); }
  void U16(uint16_t value) { Integer(value, 2); }
  void U32(uint32_t value) { Integer(value, 4); }
  void U64(uint64_t value) { Integer(value, 8); }
  void Zeros(size_t count) { bytes_.append(count, '\0'); }
  void Raw(Bytes bytes) { bytes_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size()); }
  template <typename Array>
  void Copy(const Array& value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  // `text` cut to size - 1 bytes and filled with NULs.
  void FixedText(std::string_view text, size_t size) {
    text = text.substr(0, size - 1);
    bytes_.append(text);
    Zeros(size - text.size());
  }
  // Zeros up to the next multiple of `alignment` behind `start`.
  void PadFrom(size_t start, size_t alignment) { Zeros((alignment - (size() - start) % alignment) % alignment); }
  // Writes over what was left open before.
  void SetU16(size_t at, uint16_t value) {
    bytes_[at] = static_cast<char>(value >> 8);
    bytes_[at + 1] = static_cast<char>(value);
  }

 private:
  void Integer(uint64_t value, size_t size) {
    for (size_t i = size; i-- > 0;) bytes_.push_back(static_cast<char>(value >> (8 * i)));
  }

  std::string bytes_;
};

}  // namespace sluice
