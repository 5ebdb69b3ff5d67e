// Any bytes as a frame, in one or two buffers of exactly their size: no byte beyond is read, and what is found lies
// inside.
#include <cstdlib>
#include <cstring>

#include "lib/packet/headers.h"
#include "lib/packet/parse.h"

namespace {

using sluice::DpPacket;

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

void CheckParse(DpPacket& packet) {
  sluice::FlowKey key;
  sluice::ParsePacket(packet, key);
  uint16_t l3 = packet.l3_offset;
  uint16_t l4 = packet.l4_offset;
  uint16_t payload = packet.payload_offset;
  // Of a super-packet whose layers are hidden, the payload's place alone is known.
  Check((l4 == sluice::kNoOffset) == (payload == sluice::kNoOffset) ||
        (l4 == sluice::kNoOffset && packet.offload.IsSuper()));
  if (payload != sluice::kNoOffset) Check(payload <= packet.head_length());
  if (l3 != sluice::kNoOffset) Check(l3 >= sizeof(sluice::EthernetHeader) && l3 + 20u <= packet.head_length());
  if (l4 != sluice::kNoOffset) Check(l3 < l4 && l4 < payload && payload <= packet.head_length());
  for (size_t i = KeyWords(key); i < sluice::FlowKey::kWords; ++i) Check(key.Word(i) == 0);
  Check(sluice::FlowHash(key) != 0 && sluice::SymmetricFlowHash(key) != 0);

  sluice::Layers layers = sluice::ParseLayers(packet);
  Check(layers.eth_type == key.eth_type.Get());
  Check(packet.l3_offset == l3 && packet.l4_offset == l4 && packet.payload_offset == payload);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  size_t head = static_cast<size_t>(data[0] << 8 | data[1]) % (size - 1);
  const uint8_t* frame = data + 2;
  size_t length = size - 2;

  ExactPool pool;
  sluice::DpPacketPtr whole(pool.Make(frame, length));
  CheckParse(*whole);

  sluice::DpPacketPtr split(pool.Make(frame, head));
  split->AppendChain(split.get(), pool.Make(frame + head, length - head));
  split->offload.segmentation = sluice::Segmentation::kUdp4;
  CheckParse(*split);
  return 0;
}
