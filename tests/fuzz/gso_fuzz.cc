// Any bytes as a super-packet with any offload state, in buffers of exactly their size: nothing beyond is read or
// written, and what is segmented are whole frames that carry the payload, in order, with right lengths and checksums.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "lib/packet/gso.h"
#include "lib/packet/headers.h"
#include "lib/packet/parse.h"

namespace {

using sluice::ChecksumState;
using sluice::DpPacket;
using sluice::GsoSegmenter;
using sluice::Segmentation;
using sluice::SegmentChecksum;

class ExactPool final : public sluice::PacketPool {
 public:
  DpPacket* Make(const uint8_t* bytes, size_t size) {
    auto* memory = static_cast<uint8_t*>(std::malloc(size));
    if (size > 0) std::memcpy(memory, bytes, size);
    auto* packet = new DpPacket(this, memory, static_cast<uint32_t>(size));
    packet->Reset(0);
    packet->SetHeadLength(static_cast<uint32_t>(size));
    return packet;
  }
  void Free(DpPacket* buffer) override {
    std::free(buffer->data());
    delete buffer;
  }
};

void Check(bool condition) {
  if (!condition) std::abort();
}

uint32_t Get16(const uint8_t* at) { return static_cast<uint32_t>(at[0] << 8 | at[1]); }

uint32_t NaiveSum(const uint8_t* bytes, size_t size, uint32_t sum) {
  for (size_t i = 0; i < size; ++i) sum += i % 2 == 0 ? static_cast<uint32_t>(bytes[i] << 8) : bytes[i];
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return sum;
}

// What the fuzzer chooses besides the frame.
struct Choices {
  uint8_t segmentation;
  uint8_t state;
  uint8_t segment_size[2];
  uint8_t first_bytes[2];
  uint8_t other_bytes;
  uint8_t csum_shift;  // 0: where it belongs
};

bool HasRoutingHeader(const DpPacket& super) {
  if (super.data()[super.l3_offset] >> 4 != 6) return false;
  uint8_t next = super.data()[super.l3_offset + 6];
  for (uint32_t at = super.l3_offset + 40u; at < super.l4_offset;) {
    if (next == sluice::kIpv6Routing) return true;
    next = super.data()[at];
    at += (super.data()[at + 1] + 1u) * 8;
  }
  return false;
}

void CheckChecksums(const DpPacket& super, const std::vector<uint8_t>& frame, bool tcp) {
  const uint8_t* ip = frame.data() + super.l3_offset;
  const uint32_t l4_bytes = static_cast<uint32_t>(frame.size()) - super.l4_offset;
  uint32_t pseudo = l4_bytes + (tcp ? 6 : 17);
  if (ip[0] >> 4 == 4) {
    Check(Get16(ip + 2) == frame.size() - super.l3_offset);
    Check(NaiveSum(ip, super.l4_offset - super.l3_offset, 0) == 0xffff);
    pseudo = NaiveSum(ip + 12, 8, pseudo);
  } else {
    Check(Get16(ip + 4) == frame.size() - super.l3_offset - 40);
    if (HasRoutingHeader(super)) return;  // the sum is the sender's
    pseudo = NaiveSum(ip + 8, 32, pseudo);
  }
  Check(NaiveSum(frame.data() + super.l4_offset, l4_bytes, pseudo) == 0xffff);
}

void CheckSegments(const DpPacket& super, const std::vector<uint8_t>& bytes) {
  GsoSegmenter segmenter(super, SegmentChecksum::kCompute);
  GsoSegmenter postponed(super, SegmentChecksum::kPostpone);
  Check(segmenter.ok() == postponed.ok());
  if (!segmenter.ok()) return;
  const bool tcp = IsTcp(super.offload.segmentation);
  const uint32_t headers = segmenter.header_length();
  uint32_t at = headers;
  while (!segmenter.done()) {
    Check(segmenter.next_length() > headers && segmenter.next_length() <= segmenter.longest_length());
    Check(postponed.next_length() == segmenter.next_length());
    std::vector<uint8_t> frame(segmenter.next_length());
    std::vector<uint8_t> other(frame.size());
    segmenter.WriteNext(frame.data());
    postponed.WriteNext(other.data());
    const auto payload = static_cast<uint32_t>(frame.size()) - headers;
    Check(payload <= super.offload.segment_size && at + payload <= bytes.size());
    Check(std::memcmp(&frame[headers], &bytes[at], payload) == 0);
    at += payload;
    CheckChecksums(super, frame, tcp);
    // The two differ in the checksum field alone.
    const size_t field = super.l4_offset + (tcp ? 16u : 6u);
    std::memcpy(&other[field], &frame[field], 2);
    Check(frame == other);
  }
  Check(postponed.done() && at <= bytes.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Choices choices;
  if (size <= sizeof choices || size > 70'000) return 0;
  std::memcpy(&choices, data, sizeof choices);
  const std::vector<uint8_t> bytes(data + sizeof choices, data + size);

  ExactPool pool;
  size_t at = std::min<size_t>(Get16(choices.first_bytes), bytes.size());
  sluice::DpPacketPtr super(pool.Make(bytes.data(), at));
  DpPacket* last = super.get();
  const size_t other_bytes = (choices.other_bytes + 1u) * 64;
  while (at < bytes.size()) {
    const size_t part = std::min(other_bytes, bytes.size() - at);
    DpPacket* next = pool.Make(&bytes[at], part);
    super->AppendChain(last, next);
    last = next;
    at += part;
  }
  ParseLayers(*super);
  super->offload.segmentation = static_cast<Segmentation>(choices.segmentation % 5);
  super->offload.l4 = choices.state < 4 ? static_cast<ChecksumState>(choices.state) : ChecksumState::kPartial;
  super->offload.segment_size = static_cast<uint16_t>(Get16(choices.segment_size));
  super->offload.csum_start = static_cast<uint16_t>(super->l4_offset + choices.csum_shift);
  super->offload.csum_offset = IsTcp(super->offload.segmentation) ? 16 : 6;
  CheckSegments(*super, bytes);
  return 0;
}
