// Writes frames to a capture file: classic pcap, link type Ethernet, microseconds, native byte order
// (draft-ietf-opsawg-pcap). Every frame is flushed, so that a reader sees it at once. One thread at a time.
#pragma once

#include <absl/status/statusor.h>
#include <absl/types/span.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

namespace sluice {

class PcapWriter {
 public:
  // Creates or empties the file.
  static absl::StatusOr<std::unique_ptr<PcapWriter>> Create(const std::string& path);

  // Stamps the frame with the current time. A failed write is remembered in ok().
  void Write(absl::Span<const uint8_t> frame);
  bool ok() const { return ok_; }

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  explicit PcapWriter(std::FILE* file) : file_(file) {}
  void Put(const void* bytes, size_t size);

  std::unique_ptr<std::FILE, Closer> file_;
  bool ok_ = true;
};

}  // namespace sluice
