#include "ofproto/xlate/openflow/flow_hash.h"

#include "lib/openflow/field.h"

namespace sluice {
namespace {

constexpr uint16_t kIpv4 = 0x0800, kIpv6 = 0x86dd;
constexpr uint8_t kTcp = 6, kUdp = 17, kSctp = 132;
constexpr Be16 kAll16{0xffff};

// The finalizer of MurmurHash3 over what was gathered so far.
class Hash {
 public:
  explicit Hash(uint64_t basis) : state_(basis * 0x9e3779b97f4a7c15u + 0x632be59bd9b4e019u) {}
  void Add(uint64_t word) { state_ = Mix(state_ ^ Mix(word + 0x9e3779b97f4a7c15u)); }
  uint32_t value() const { return static_cast<uint32_t>(state_ ^ state_ >> 32); }

 private:
  static uint64_t Mix(uint64_t word) {
    word = (word ^ word >> 33) * 0xff51afd7ed558ccdu;
    word = (word ^ word >> 33) * 0xc4ceb9fe1a85ec53u;
    return word ^ word >> 33;
  }
  uint64_t state_;
};

uint64_t WordOf(const MacAddress& mac) {
  uint64_t word = 0;
  for (uint8_t byte : mac) word = word << 8 | byte;
  return word;
}

void AddAddress(const Ipv6Address& address, Hash& hash) {
  for (size_t half = 0; half < 2; ++half) {
    uint64_t word = 0;
    for (size_t i = 0; i < 8; ++i) word = word << 8 | address[half * 8 + i];
    hash.Add(word);
  }
}

// Both directions of a conversation give the same.
void AddBothAddresses(const FlowKey& packet, Hash& hash, FlowMask& mask) {
  mask.eth_type = kAll16;
  if (packet.eth_type == Be16(kIpv4)) {
    mask.ipv4_src = mask.ipv4_dst = Be32(UINT32_MAX);
    hash.Add(packet.ipv4_src.Get() ^ packet.ipv4_dst.Get());
  } else if (packet.eth_type == Be16(kIpv6)) {
    mask.ipv6_src.fill(0xff);
    mask.ipv6_dst.fill(0xff);
    Ipv6Address both;
    for (size_t i = 0; i < both.size(); ++i) both[i] = packet.ipv6_src[i] ^ packet.ipv6_dst[i];
    AddAddress(both, hash);
  }
}

void AddBothPorts(const FlowKey& packet, bool udp_too, Hash& hash, FlowMask& mask) {
  if (packet.eth_type != Be16(kIpv4) && packet.eth_type != Be16(kIpv6)) return;
  mask.ip_proto = 0xff;
  hash.Add(packet.ip_proto);
  if (packet.ip_proto != kTcp && packet.ip_proto != kSctp && !(udp_too && packet.ip_proto == kUdp)) return;
  mask.tp_src = mask.tp_dst = kAll16;
  hash.Add(static_cast<uint64_t>(packet.tp_src.Get() ^ packet.tp_dst.Get()));
}

void AddAddress(const FlowKey& packet, bool source, Hash& hash, FlowMask& mask) {
  mask.eth_type = kAll16;
  if (packet.eth_type == Be16(kIpv4)) {
    (source ? mask.ipv4_src : mask.ipv4_dst) = Be32(UINT32_MAX);
    hash.Add((source ? packet.ipv4_src : packet.ipv4_dst).Get());
  } else if (packet.eth_type == Be16(kIpv6)) {
    (source ? mask.ipv6_src : mask.ipv6_dst).fill(0xff);
    AddAddress(source ? packet.ipv6_src : packet.ipv6_dst, hash);
  }
}

}  // namespace

uint32_t HashFlow(const OfFlow& flow, OfHashFields fields, uint16_t basis, OfMask& looked_at) {
  const FlowKey& packet = flow.packet;
  FlowMask& mask = looked_at.packet;
  Hash hash(basis);
  switch (fields) {
    case kHashEthSrc:
      mask.eth_src.fill(0xff);
      hash.Add(WordOf(packet.eth_src));
      break;
    case kHashSymmetricL4:
      mask.eth_src.fill(0xff);
      mask.eth_dst.fill(0xff);
      mask.vlan_tci = kAll16;
      hash.Add(WordOf(packet.eth_src) ^ WordOf(packet.eth_dst));
      hash.Add(static_cast<uint64_t>(packet.vlan_tci.Get()) << 16 | packet.eth_type.Get());
      AddBothAddresses(packet, hash, mask);
      AddBothPorts(packet, /*udp_too=*/false, hash, mask);
      break;
    case kHashSymmetricL3L4:
    case kHashSymmetricL3L4Udp:
      AddBothAddresses(packet, hash, mask);
      AddBothPorts(packet, fields == kHashSymmetricL3L4Udp, hash, mask);
      break;
    case kHashNwSrc:
    case kHashNwDst:
      AddAddress(packet, fields == kHashNwSrc, hash, mask);
      break;
    case kHashSymmetricL3:
      AddBothAddresses(packet, hash, mask);
      break;
  }
  return hash.value();
}

uint32_t HashFlow(const OfFlow& flow, const OfMask& mask, uint64_t basis, OfMask& looked_at) {
  Hash hash(basis);
  for (size_t i = 0; i < OfFlow::kWords; ++i) {
    const uint64_t bits = mask.Word(i);
    if (bits == 0) continue;
    looked_at.SetWord(i, looked_at.Word(i) | bits);
    hash.Add(flow.Word(i) & bits);
  }
  return hash.value();
}

uint32_t MemberRank(uint32_t hash, uint32_t member) {
  Hash rank(hash);
  rank.Add(member);
  return rank.value();
}

uint32_t ChooseLink(OfMultipath::Algorithm algorithm, uint32_t hash, uint32_t links, uint32_t arg) {
  switch (algorithm) {
    case OfMultipath::Algorithm::kModuloN:
      return hash % links;
    case OfMultipath::Algorithm::kHashThreshold:
      return static_cast<uint32_t>(uint64_t{hash} * links >> 32);
    case OfMultipath::Algorithm::kHrw: {
      uint32_t best = 0;
      for (uint32_t link = 1; link < links; ++link) {
        if (MemberRank(hash, link) > MemberRank(hash, best)) best = link;
      }
      return best;
    }
    case OfMultipath::Algorithm::kIterHash: {
      // Links up to `arg` are tried in an order of the hash's own until one exists; then any will do.
      uint32_t step = hash;
      for (uint32_t i = 0; i < 256; ++i) {
        step = MemberRank(step, i);
        const uint32_t link = arg == 0 ? 0 : step % arg;
        if (link < links) return link;
      }
      return hash % links;
    }
  }
  return 0;
}

}  // namespace sluice
