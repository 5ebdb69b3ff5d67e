// VLAN tags and MPLS labels.
#include "ofproto/xlate/openflow/header_changes.h"
#include "ofproto/xlate/translator.h"

namespace sluice {
namespace {

constexpr uint16_t kIpv4 = 0x0800, kIpv6 = 0x86dd;
constexpr uint32_t kLabelMask = 0xfffff000, kTcMask = 0x00000e00, kBottomOfStack = 0x100, kTtlMask = 0xff;
constexpr int kLabelShift = 12, kTcShift = 9;
constexpr uint32_t kExplicitNull4 = 0, kExplicitNull6 = 2;  // RFC 3032, 2.1

Be16 TciOf(const VlanTag& tag) { return Be16(static_cast<uint16_t>(tag.id | tag.priority | kVlanPresent)); }

}  // namespace

// VLAN
// ------------------------------------------------------------------------------------------------------------------

void Translator::LookAtTags() {
  OuterTagOf(key_, looked_at_);
  if ((key_.vlan_tci.Get() & kVlanPresent) != 0 && in_.topology.vlan_limit != 1) InnerTagOf(key_, looked_at_);
}

// As many as vlan_limit lets be seen.
void Translator::TagsToFlow(Pass& pass) {
  FlowKey& packet = pass.flow.packet;
  packet.vlan_tci = packet.vlan_tpid = packet.inner_vlan_tci = packet.inner_vlan_tpid = Be16();
  const size_t size = pass.tags.size();
  if (size == 0) return;
  packet.vlan_tpid = Be16(pass.tags.top().tpid);
  packet.vlan_tci = TciOf(pass.tags.top());
  if (size == 1 || in_.topology.vlan_limit == 1) return;
  packet.inner_vlan_tpid = Be16(pass.tags.at(size - 2).tpid);
  packet.inner_vlan_tci = TciOf(pass.tags.at(size - 2));
}

void Translator::ReplaceTopTag(Pass& pass, const VlanTag& tag) {
  if (!pass.tags.empty()) pass.tags.Pop();
  pass.tags.Push(tag);
  TagsToFlow(pass);
}

// The outer tag was written as a field. Without the bit that says that there is one, there is none.
void Translator::TagsFromFlow(Pass& pass, Be16 before) {
  const uint16_t tci = pass.flow.packet.vlan_tci.Get();
  if ((tci & kVlanPresent) == 0) {
    if (!pass.tags.empty()) pass.tags.Pop();
    return TagsToFlow(pass);
  }
  VlanTag tag;
  if (!pass.tags.empty()) {
    tag = pass.tags.top();
    // The priority may be what it was because it was written so.
    LookAtPriority(tag, looked_at_);
  }
  if (tag.tpid == 0) tag.tpid = kTpid8021q;
  tag.id = tci & kVlanIdMask;
  tag.priority = tci & kVlanPriorityMask;
  tag.priority_from = VlanTag::PriorityFrom::kNowhere;
  static_cast<void>(before);
  ReplaceTopTag(pass, tag);
}

Translator::Step Translator::Do(Pass& pass, const OfSetVlanVid& action, const List&) {
  LookAtTags();
  if (pass.tags.empty() && !action.push_if_needed) return Step::kNext;
  VlanTag tag{.tpid = kTpid8021q};
  if (!pass.tags.empty()) tag = pass.tags.top();
  tag.id = action.vid & kVlanIdMask;
  ReplaceTopTag(pass, tag);
  return Step::kNext;
}

Translator::Step Translator::Do(Pass& pass, const OfSetVlanPcp& action, const List&) {
  LookAtTags();
  if (pass.tags.empty() && !action.push_if_needed) return Step::kNext;
  VlanTag tag{.tpid = kTpid8021q};
  if (!pass.tags.empty()) tag = pass.tags.top();
  tag.priority = static_cast<uint16_t>((action.pcp & 7) << 13);
  tag.priority_from = VlanTag::PriorityFrom::kNowhere;
  ReplaceTopTag(pass, tag);
  return Step::kNext;
}

Translator::Step Translator::Do(Pass& pass, const OfStripVlan&, const List&) {
  LookAtTags();
  if (!pass.tags.empty()) pass.tags.Pop();
  TagsToFlow(pass);
  return Step::kNext;
}

Translator::Step Translator::Do(Pass& pass, const OfPushVlan& action, const List&) {
  LookAtTags();
  if (pass.tags.full()) {
    Fail(pass, fmt::format("over {} VLAN tags", TagStack::kMaxTags));
    return Step::kNext;
  }
  pass.tags.Push({.tpid = action.ethertype});
  TagsToFlow(pass);
  return Step::kNext;
}

// A label stack entry is set whole.
void Translator::LookAtLabel() { looked_at_.mpls_lse[0] = Be32(UINT32_MAX); }

// MPLS
// ------------------------------------------------------------------------------------------------------------------

Translator::Step Translator::Do(Pass& pass, const OfPushMpls& action, const List&) {
  FlowKey& packet = pass.flow.packet;
  looked_at_.eth_type = Be16(0xffff);
  if (IsMpls(packet.eth_type)) {
    looked_at_.mpls_lse.fill(Be32(UINT32_MAX));
    const size_t depth = MplsDepth(packet);
    if (depth == packet.mpls_lse.size()) {
      Fail(pass, fmt::format("push_mpls: over {} labels", depth));
      return Step::kNext;
    }
    std::copy_backward(packet.mpls_lse.begin(), packet.mpls_lse.end() - 1, packet.mpls_lse.end());
    packet.mpls_lse[0] = packet.mpls_lse[1] & Be32(~kBottomOfStack);
    packet.eth_type = Be16(action.ethertype);
    return Step::kNext;
  }
  // What was changed of the packet must be done before the labels hide it.
  composer_.Commit(packet, pass.tags, !pass.was_mpls);
  uint32_t ttl = 64, tc = 0;
  const uint32_t label = packet.eth_type == Be16(kIpv6) ? kExplicitNull6 : kExplicitNull4;
  if (packet.eth_type == Be16(kIpv4) || packet.eth_type == Be16(kIpv6)) {
    looked_at_.ip_ttl = 0xff;
    looked_at_.ip_tos |= 0xfc;
    ttl = packet.ip_ttl;
    tc = packet.ip_tos >> 2;
  }
  FlowKey labelled;
  labelled.recirc_id = packet.recirc_id;
  labelled.skb_mark = packet.skb_mark;
  labelled.skb_priority = packet.skb_priority;
  labelled.eth_dst = packet.eth_dst;
  labelled.eth_src = packet.eth_src;
  labelled.vlan_tci = packet.vlan_tci;
  labelled.vlan_tpid = packet.vlan_tpid;
  labelled.inner_vlan_tci = packet.inner_vlan_tci;
  labelled.inner_vlan_tpid = packet.inner_vlan_tpid;
  labelled.mpls_lse[0] = Be32(label << kLabelShift | (tc << kTcShift & kTcMask) | kBottomOfStack | ttl);
  labelled.eth_type = Be16(action.ethertype);
  packet = labelled;
  return Step::kNext;
}

Translator::Step Translator::Do(Pass& pass, const OfPopMpls& action, const List&) {
  FlowKey& packet = pass.flow.packet;
  looked_at_.eth_type = Be16(0xffff);
  if (!IsMpls(packet.eth_type)) return Step::kNext;
  looked_at_.mpls_lse.fill(Be32(UINT32_MAX));
  const size_t depth = MplsDepth(packet);
  if (depth == packet.mpls_lse.size() && (packet.mpls_lse[depth - 1].Get() & kBottomOfStack) == 0) {
    Fail(pass, fmt::format("pop_mpls: over {} labels", depth));
    return Step::kNext;
  }
  std::copy(packet.mpls_lse.begin() + 1, packet.mpls_lse.end(), packet.mpls_lse.begin());
  packet.mpls_lse.back() = Be32();
  packet.eth_type = Be16(action.ethertype);
  if (!IsMpls(packet.eth_type)) pass.was_mpls = true;
  return Step::kNext;
}

Translator::Step Translator::Do(Pass& pass, const OfSetMplsLabel& action, const List&) {
  looked_at_.eth_type = Be16(0xffff);
  if (!IsMpls(pass.flow.packet.eth_type)) return Step::kNext;
  LookAtLabel();
  Be32& lse = pass.flow.packet.mpls_lse[0];
  lse = Be32((lse.Get() & ~kLabelMask) | action.label << kLabelShift);
  return Step::kNext;
}

Translator::Step Translator::Do(Pass& pass, const OfSetMplsTc& action, const List&) {
  looked_at_.eth_type = Be16(0xffff);
  if (!IsMpls(pass.flow.packet.eth_type)) return Step::kNext;
  LookAtLabel();
  Be32& lse = pass.flow.packet.mpls_lse[0];
  lse = Be32((lse.Get() & ~kTcMask) | (uint32_t{action.tc} << kTcShift & kTcMask));
  return Step::kNext;
}

Translator::Step Translator::Do(Pass& pass, const OfSetMplsTtl& action, const List&) {
  looked_at_.eth_type = Be16(0xffff);
  if (!IsMpls(pass.flow.packet.eth_type)) return Step::kNext;
  LookAtLabel();
  Be32& lse = pass.flow.packet.mpls_lse[0];
  lse = Be32((lse.Get() & ~kTtlMask) | action.ttl);
  return Step::kNext;
}

Translator::Step Translator::Do(Pass& pass, const OfDecMplsTtl&, const List&) {
  looked_at_.eth_type = Be16(0xffff);
  if (!IsMpls(pass.flow.packet.eth_type)) return Step::kNext;
  LookAtLabel();
  Be32& lse = pass.flow.packet.mpls_lse[0];
  if ((lse.Get() & kTtlMask) > 1) {
    lse = Be32(lse.Get() - 1);
    return Step::kNext;
  }
  constexpr uint16_t kEveryone[] = {0};
  return SendInvalidTtl(pass, kEveryone);
}

}  // namespace sluice
