#include "ofproto/xlate/openflow/header_changes.h"

#include <absl/types/span.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace sluice {
namespace {

using Header = SetAction::Header;

constexpr uint16_t kIpv4 = 0x0800, kIpv6 = 0x86dd, kArp = 0x0806, kMplsUnicast = 0x8847, kMplsMulticast = 0x8848;
constexpr uint8_t kIcmp = 1, kTcp = 6, kUdp = 17, kIcmpv6 = 58, kSctp = 132;
constexpr uint16_t kNeighborSolicit = 135, kNeighborAdvert = 136;
constexpr uint32_t kBottomOfStack = 0x100;

struct Range {
  size_t offset;
  size_t size;
};
#define SLUICE_RANGE(field) \
  Range { offsetof(FlowKey, field), sizeof(FlowKey::field) }

constexpr Range kEthernetFields[] = {SLUICE_RANGE(eth_src), SLUICE_RANGE(eth_dst)};
constexpr Range kIpv4Fields[] = {SLUICE_RANGE(ipv4_src), SLUICE_RANGE(ipv4_dst), SLUICE_RANGE(ip_tos),
                                 SLUICE_RANGE(ip_ttl)};
constexpr Range kIpv6Fields[] = {SLUICE_RANGE(ipv6_src), SLUICE_RANGE(ipv6_dst), SLUICE_RANGE(ipv6_label),
                                 SLUICE_RANGE(ip_tos), SLUICE_RANGE(ip_ttl)};
constexpr Range kArpFields[] = {SLUICE_RANGE(ip_proto), SLUICE_RANGE(ipv4_src), SLUICE_RANGE(ipv4_dst),
                                SLUICE_RANGE(arp_sha), SLUICE_RANGE(arp_tha)};
constexpr Range kPortFields[] = {SLUICE_RANGE(tp_src), SLUICE_RANGE(tp_dst)};
constexpr Range kNdFields[] = {SLUICE_RANGE(nd_target), SLUICE_RANGE(arp_sha), SLUICE_RANGE(arp_tha)};
constexpr Range kMplsFields[] = {{offsetof(FlowKey, mpls_lse), 4}};
#undef SLUICE_RANGE

uint8_t* At(FlowKey& key, const Range& range) { return reinterpret_cast<uint8_t*>(&key) + range.offset; }
const uint8_t* At(const FlowKey& key, const Range& range) {
  return reinterpret_cast<const uint8_t*>(&key) + range.offset;
}

// One set action for those of `fields` that differ.
void CommitSet(Header header, absl::Span<const Range> fields, const FlowKey& wanted, const FlowMask& changed,
               FlowKey& base, ActionList& actions) {
  SetAction set{.header = header, .value = {}, .mask = {}};
  bool any = false;
  for (const Range& field : fields) {
    if (std::memcmp(At(wanted, field), At(base, field), field.size) == 0) continue;
    for (size_t i = 0; i < field.size; ++i) {
      const uint8_t mask = At(changed, field)[i];
      any |= mask != 0;
      At(set.mask, field)[i] = mask;
      At(set.value, field)[i] = At(wanted, field)[i] & mask;
    }
    std::memcpy(At(base, field), At(wanted, field), field.size);
  }
  if (any) actions.push_back({set});
}

size_t SharedLabels(const FlowKey& a, size_t a_depth, const FlowKey& b, size_t b_depth) {
  size_t shared = 0;
  while (shared < std::min(a_depth, b_depth) && a.mpls_lse[a_depth - 1 - shared] == b.mpls_lse[b_depth - 1 - shared]) {
    ++shared;
  }
  return shared;
}

void PopLabel(FlowKey& base, Be16 eth_type, ActionList& actions) {
  actions.push_back({PopMplsAction{eth_type}});
  std::copy(base.mpls_lse.begin() + 1, base.mpls_lse.end(), base.mpls_lse.begin());
  base.mpls_lse.back() = Be32();
  base.eth_type = eth_type;
}

void PushLabel(FlowKey& base, Be16 eth_type, Be32 lse, ActionList& actions) {
  actions.push_back({PushMplsAction{eth_type, lse}});
  std::copy_backward(base.mpls_lse.begin(), base.mpls_lse.end() - 1, base.mpls_lse.end());
  base.mpls_lse.front() = lse;
  base.eth_type = eth_type;
}

// Labels below that both have stay. The topmost that go are replaced, if there is one to put there.
void CommitMpls(const FlowKey& wanted, const FlowMask& changed, FlowKey& base, ActionList& actions) {
  const size_t want = MplsDepth(wanted);
  size_t have = MplsDepth(base);
  size_t shared = SharedLabels(wanted, want, base, have);
  while (have > shared) {
    if (have - 1 == shared && want > shared) {
      FlowKey replaced = base;
      replaced.mpls_lse[0] = wanted.mpls_lse[want - have];
      FlowMask mask = changed;
      if (want != have) mask.mpls_lse[0] = Be32(UINT32_MAX);
      CommitSet(Header::kMpls, kMplsFields, replaced, mask, base, actions);
      ++shared;
    } else {
      PopLabel(base, have == 1 && want == 0 ? wanted.eth_type : Be16(kMplsUnicast), actions);
      --have;
    }
  }
  while (have < want) {
    PushLabel(base, wanted.eth_type, wanted.mpls_lse[want - have - 1], actions);
    ++have;
  }
}

void CommitTransport(const FlowKey& wanted, const FlowMask& changed, FlowKey& base, ActionList& actions) {
  if ((wanted.ip_frag & kFragLater) != 0) return;
  const bool is_ipv6 = wanted.eth_type == Be16(kIpv6);
  auto ports = [&](Header header) { CommitSet(header, kPortFields, wanted, changed, base, actions); };
  switch (wanted.ip_proto) {
    case kTcp:
      return ports(Header::kTcp);
    case kUdp:
      return ports(Header::kUdp);
    case kSctp:
      return ports(Header::kSctp);
    case kIcmp:
      return is_ipv6 ? void() : ports(Header::kIcmp);
    case kIcmpv6:
      if (!is_ipv6) return;
      ports(Header::kIcmpv6);
      if (wanted.tp_src == Be16(kNeighborSolicit) || wanted.tp_src == Be16(kNeighborAdvert)) {
        CommitSet(Header::kNd, kNdFields, wanted, changed, base, actions);
      }
      return;
    default:
      return;
  }
}

void CommitNetwork(const FlowKey& wanted, const FlowMask& changed, FlowKey& base, ActionList& actions) {
  if (wanted.eth_type != base.eth_type) return;
  switch (wanted.eth_type.Get()) {
    case kIpv4:
      CommitSet(Header::kIpv4, kIpv4Fields, wanted, changed, base, actions);
      return CommitTransport(wanted, changed, base, actions);
    case kIpv6:
      CommitSet(Header::kIpv6, kIpv6Fields, wanted, changed, base, actions);
      return CommitTransport(wanted, changed, base, actions);
    case kArp:
      return CommitSet(Header::kArp, kArpFields, wanted, changed, base, actions);
    default:
      return;
  }
}

}  // namespace

bool IsMpls(Be16 eth_type) { return eth_type == Be16(kMplsUnicast) || eth_type == Be16(kMplsMulticast); }

size_t MplsDepth(const FlowKey& packet) {
  if (!IsMpls(packet.eth_type)) return 0;
  for (size_t i = 0; i < packet.mpls_lse.size(); ++i) {
    if ((packet.mpls_lse[i].Get() & kBottomOfStack) != 0) return i + 1;
  }
  return packet.mpls_lse.size();
}

void CommitHeaders(const FlowKey& wanted, const FlowMask& changed, bool knows_payload, FlowKey& base,
                   ActionList& actions) {
  CommitSet(Header::kEthernet, kEthernetFields, wanted, changed, base, actions);
  // What lies under labels can be set only when they are gone.
  const bool loses_labels = IsMpls(base.eth_type) && !IsMpls(wanted.eth_type);
  if (loses_labels) CommitMpls(wanted, changed, base, actions);
  if (knows_payload) CommitNetwork(wanted, changed, base, actions);
  if (!loses_labels && (IsMpls(wanted.eth_type) || IsMpls(base.eth_type))) {
    CommitMpls(wanted, changed, base, actions);
  }
}

void CommitMarks(const FlowKey& wanted, FlowKey& base, ActionList& actions) {
  if (wanted.skb_priority != base.skb_priority) {
    SetAction set{.header = Header::kPriority, .value = {}, .mask = {}};
    set.value.skb_priority = wanted.skb_priority;
    set.mask.skb_priority = UINT32_MAX;
    actions.push_back({set});
    base.skb_priority = wanted.skb_priority;
  }
  if (wanted.skb_mark != base.skb_mark) {
    SetAction set{.header = Header::kMark, .value = {}, .mask = {}};
    set.value.skb_mark = wanted.skb_mark;
    set.mask.skb_mark = UINT32_MAX;
    actions.push_back({set});
    base.skb_mark = wanted.skb_mark;
  }
}

}  // namespace sluice
