#include "lib/openflow/match/field_storage.h"

#include <array>

namespace sluice {
namespace {

using Kind = FieldStorage::Kind;

constexpr uint16_t InPacket(size_t offset) { return static_cast<uint16_t>(offsetof(OfFlow, packet) + offset); }

constexpr FieldStorage Bytes(size_t offset, uint8_t size) { return {InPacket(offset), size, Kind::kBytes, 0, 0}; }
constexpr FieldStorage Be(size_t offset, uint8_t size, uint64_t bits, uint8_t shift = 0) {
  return {InPacket(offset), size, Kind::kBe, shift, bits};
}
constexpr FieldStorage Host(size_t offset, uint8_t size, uint64_t bits, uint8_t shift = 0) {
  return {static_cast<uint16_t>(offset), size, Kind::kHost, shift, bits};
}
constexpr FieldStorage Registers(size_t first, size_t count) {
  return {static_cast<uint16_t>(offsetof(OfFlow, regs) + first * 4), static_cast<uint8_t>(count * 4), Kind::kWords, 0,
          0};
}
constexpr FieldStorage Port(size_t offset) { return {static_cast<uint16_t>(offset), 4, Kind::kPort, 0, 0}; }

constexpr size_t kCount = static_cast<size_t>(FieldId::kCount);

constexpr std::array<FieldStorage, kCount> MakeStorage() {
  std::array<FieldStorage, kCount> all{};
  auto at = [&all](FieldId id) -> FieldStorage& { return all[static_cast<size_t>(id)]; };
  using F = FieldId;

  at(F::kDpHash) = Host(InPacket(offsetof(FlowKey, dp_hash)), 4, UINT32_MAX);
  at(F::kRecircId) = Host(InPacket(offsetof(FlowKey, recirc_id)), 4, UINT32_MAX);
  at(F::kSkbPriority) = Host(InPacket(offsetof(FlowKey, skb_priority)), 4, UINT32_MAX);
  at(F::kPktMark) = Host(InPacket(offsetof(FlowKey, skb_mark)), 4, UINT32_MAX);
  at(F::kPacketType) = Host(offsetof(OfFlow, packet_type), 4, UINT32_MAX);
  at(F::kConjId) = Host(offsetof(OfFlow, conj_id), 4, UINT32_MAX);
  at(F::kMetadata) = Host(offsetof(OfFlow, metadata), 8, UINT64_MAX);
  at(F::kInPort) = at(F::kInPortOxm) = Port(offsetof(OfFlow, in_port));
  at(F::kActsetOutput) = Port(offsetof(OfFlow, actset_output));
  for (size_t i = 0; i < 16; ++i) all[static_cast<size_t>(F::kReg0) + i] = Registers(i, 1);
  for (size_t i = 0; i < 8; ++i) all[static_cast<size_t>(F::kXreg0) + i] = Registers(2 * i, 2);
  for (size_t i = 0; i < 4; ++i) all[static_cast<size_t>(F::kXxreg0) + i] = Registers(4 * i, 4);

  at(F::kEthSrc) = Bytes(offsetof(FlowKey, eth_src), 6);
  at(F::kEthDst) = Bytes(offsetof(FlowKey, eth_dst), 6);
  at(F::kEthType) = Be(offsetof(FlowKey, eth_type), 2, 0xffff);
  at(F::kVlanTci) = Be(offsetof(FlowKey, vlan_tci), 2, 0xffff);
  at(F::kDlVlan) = Be(offsetof(FlowKey, vlan_tci), 2, 0x0fff);
  at(F::kVlanVid) = Be(offsetof(FlowKey, vlan_tci), 2, 0x1fff);
  at(F::kDlVlanPcp) = at(F::kVlanPcp) = Be(offsetof(FlowKey, vlan_tci), 2, 0x7, 13);
  at(F::kMplsLabel) = Be(offsetof(FlowKey, mpls_lse), 4, 0xfffff, 12);
  at(F::kMplsTc) = Be(offsetof(FlowKey, mpls_lse), 4, 0x7, 9);
  at(F::kMplsBos) = Be(offsetof(FlowKey, mpls_lse), 4, 0x1, 8);
  at(F::kMplsTtl) = Be(offsetof(FlowKey, mpls_lse), 4, 0xff);
  at(F::kIpv4Src) = at(F::kArpSpa) = Bytes(offsetof(FlowKey, ipv4_src), 4);
  at(F::kIpv4Dst) = at(F::kArpTpa) = Bytes(offsetof(FlowKey, ipv4_dst), 4);
  at(F::kIpv6Src) = Bytes(offsetof(FlowKey, ipv6_src), 16);
  at(F::kIpv6Dst) = Bytes(offsetof(FlowKey, ipv6_dst), 16);
  at(F::kIpv6Label) = Be(offsetof(FlowKey, ipv6_label), 4, 0xfffff);
  at(F::kIpProto) = at(F::kArpOp) = Be(offsetof(FlowKey, ip_proto), 1, 0xff);
  at(F::kIpDscp) = Be(offsetof(FlowKey, ip_tos), 1, 0xfc);
  at(F::kIpDscpShifted) = Be(offsetof(FlowKey, ip_tos), 1, 0x3f, 2);
  at(F::kIpEcn) = Be(offsetof(FlowKey, ip_tos), 1, 0x3);
  at(F::kIpTtl) = Be(offsetof(FlowKey, ip_ttl), 1, 0xff);
  at(F::kIpFrag) = Be(offsetof(FlowKey, ip_frag), 1, 0x3);
  at(F::kArpSha) = at(F::kNdSll) = Bytes(offsetof(FlowKey, arp_sha), 6);
  at(F::kArpTha) = at(F::kNdTll) = Bytes(offsetof(FlowKey, arp_tha), 6);
  at(F::kTcpSrc) = at(F::kUdpSrc) = at(F::kSctpSrc) = Be(offsetof(FlowKey, tp_src), 2, 0xffff);
  at(F::kTcpDst) = at(F::kUdpDst) = at(F::kSctpDst) = Be(offsetof(FlowKey, tp_dst), 2, 0xffff);
  at(F::kTcpFlags) = Be(offsetof(FlowKey, tcp_flags), 2, 0x0fff);
  at(F::kIcmpv4Type) = at(F::kIcmpv6Type) = Be(offsetof(FlowKey, tp_src), 2, 0xff);
  at(F::kIcmpv4Code) = at(F::kIcmpv6Code) = Be(offsetof(FlowKey, tp_dst), 2, 0xff);
  at(F::kNdTarget) = Bytes(offsetof(FlowKey, nd_target), 16);

  at(F::kNshFlags) = Host(offsetof(OfFlow, nsh_flags), 1, 0xff);
  at(F::kNshTtl) = Host(offsetof(OfFlow, nsh_ttl), 1, 0xff);
  at(F::kNshMdtype) = Host(offsetof(OfFlow, nsh_mdtype), 1, 0xff);
  at(F::kNshNp) = Host(offsetof(OfFlow, nsh_np), 1, 0xff);
  at(F::kNshSpi) = Host(offsetof(OfFlow, nsh_path), 4, 0xffffff, 8);
  at(F::kNshSi) = Host(offsetof(OfFlow, nsh_path), 4, 0xff);
  for (size_t i = 0; i < 4; ++i) {
    all[static_cast<size_t>(F::kNshC1) + i] = Host(offsetof(OfFlow, nsh_c) + 4 * i, 4, UINT32_MAX);
  }
  return all;
}

constexpr std::array<FieldStorage, kCount> kStorage = MakeStorage();

constexpr bool Complete() {
  for (const FieldStorage& storage : kStorage) {
    if (storage.size == 0) return false;
  }
  return true;
}
static_assert(Complete());

}  // namespace

const FieldStorage& StorageOf(FieldId id) { return kStorage[static_cast<size_t>(id)]; }

}  // namespace sluice
