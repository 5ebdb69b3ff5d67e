#include "netdev/dummy/pcap_writer.h"

#include <cerrno>
#include <chrono>

#include "lib/base/status.h"

namespace sluice {
namespace {

constexpr uint32_t kSnapLength = 262144;

struct FileHeader {
  uint32_t magic = 0xa1b2c3d4;  // microseconds
  uint16_t major = 2;
  uint16_t minor = 4;
  uint32_t reserved[2] = {};
  uint32_t snap_length = kSnapLength;
  uint32_t link_type = 1;  // Ethernet
};
static_assert(sizeof(FileHeader) == 24);

struct RecordHeader {
  uint32_t seconds;
  uint32_t microseconds;
  uint32_t captured;  // bytes
  uint32_t length;    // bytes
};
static_assert(sizeof(RecordHeader) == 16);

}  // namespace

absl::StatusOr<std::unique_ptr<PcapWriter>> PcapWriter::Create(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return ErrnoStatus(errno, fmt::format("capture file {}: cannot be created", path));
  std::unique_ptr<PcapWriter> writer(new PcapWriter(file));
  FileHeader header;
  writer->Put(&header, sizeof header);
  std::fflush(file);
  return writer;
}

void PcapWriter::Put(const void* bytes, size_t size) { ok_ = ok_ && std::fwrite(bytes, 1, size, file_.get()) == size; }

void PcapWriter::Write(absl::Span<const uint8_t> frame) {
  auto now = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch());
  auto size = static_cast<uint32_t>(frame.size());
  RecordHeader header = {static_cast<uint32_t>(now.count() / 1000000), static_cast<uint32_t>(now.count() % 1000000),
                         std::min(size, kSnapLength), size};
  Put(&header, sizeof header);
  Put(frame.data(), header.captured);
  ok_ = std::fflush(file_.get()) == 0 && ok_;
}

}  // namespace sluice
