#include "datapath/actions/packet_copy.h"

namespace sluice {

DpPacketPtr AllocateFor(uint32_t bytes, PacketPools& pools) {
  if (bytes <= pools.small->data_size()) return pools.small->Allocate();
  // Large buffers come without headroom: a second one behind a small one needs none. Here it holds the headers.
  if (bytes + PacketPools::kHeadroom > pools.large->data_size()) return nullptr;
  DpPacketPtr packet = pools.large->Allocate();
  if (packet != nullptr) packet->Reset(PacketPools::kHeadroom);
  return packet;
}

DpPacketPtr CopyPacket(const DpPacket& packet, PacketPools& pools) {
  uint32_t length = packet.length();
  uint32_t small = pools.small->data_size();
  bool chained = length + PacketPools::kHeadroom > pools.large->data_size();
  if (chained && length > small + pools.large->data_size()) return nullptr;

  uint32_t head = chained ? small : length;
  DpPacketPtr copy = AllocateFor(head, pools);
  if (copy == nullptr) return nullptr;
  copy->SetHeadLength(head);
  packet.CopyOut(0, head, copy->data());
  if (chained) {
    DpPacketPtr rest = pools.large->Allocate();
    if (rest == nullptr) return nullptr;
    rest->SetHeadLength(length - head);
    packet.CopyOut(head, length - head, rest->data());
    copy->AppendChain(copy.get(), rest.release());
  }
  copy->CopyMetadataFrom(packet);
  return copy;
}

}  // namespace sluice
