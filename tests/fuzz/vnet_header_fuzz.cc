// Any header before any frame: decoding stays inside the frame, what it accepts satisfies the rules that the datapath
// relies on, and survives encoding. Input: 10 bytes of header, then the frame.
#include <cstdlib>
#include <cstring>

#include "netdev/vnet_header.h"

namespace sluice {
namespace {

// Frees nothing: the buffer is the fuzzer's.
class BorrowedPool final : public PacketPool {
  void Free(DpPacket*) override {}
};

void Require(bool holds) {
  if (!holds) std::abort();
}

void CheckAccepted(DpPacket& packet) {
  const Offload before = packet.offload;
  if (before.IsPartial()) Require(before.csum_start + before.csum_offset + 2u <= packet.head_length());
  if (before.IsSuper()) {
    Require(before.IsPartial() && before.segment_size > 0);
    Require(before.csum_start + 8u + before.segment_size < packet.length());
  }
  VnetHeader header;
  EncodeVnetHeader(packet, header);
  Require(header.hdr_len <= packet.head_length());
  DropReason reason{};
  Require(DecodeVnetHeader(header, packet, reason));
  Require(std::memcmp(&before, &packet.offload, sizeof before) == 0);
}

}  // namespace
}  // namespace sluice

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sluice;
  VnetHeader header;
  if (size < sizeof header) return 0;
  std::memcpy(&header, data, sizeof header);
  // A copy of its own size, so that the sanitizer sees any read beyond the frame.
  size_t length = size - sizeof header;
  auto* frame = static_cast<uint8_t*>(std::malloc(length));
  std::memcpy(frame, data + sizeof header, length);
  BorrowedPool pool;
  DpPacket packet(&pool, frame, static_cast<uint32_t>(length));
  packet.Reset(0);
  packet.SetHeadLength(static_cast<uint32_t>(length));
  DropReason reason{};
  if (DecodeVnetHeader(header, packet, reason)) CheckAccepted(packet);
  std::free(frame);
  return 0;
}
