#include "ofproto/xlate/vlan_tags.h"

namespace sluice {
namespace {

constexpr Be16 kIdAndPresence{kVlanIdMask | kVlanPresent};

VlanTag MakeTag(Be16 tpid, Be16 tci, VlanTag::PriorityFrom from) {
  return {.tpid = tpid.Get(),
          .id = static_cast<uint16_t>(tci.Get() & kVlanIdMask),
          .priority = static_cast<uint16_t>(tci.Get() & kVlanPriorityMask),
          .priority_from = from};
}

// A native port carries its native VLAN whether or not it is among those that it trunks, and not VLAN 0 (unless that is
// the native one): on its wire a frame without a tag is in the native VLAN.
bool Trunks(const XBundle& bundle, uint16_t vlan) {
  if (bundle.mode == VlanMode::kTrunk) return bundle.trunks.test(vlan);
  return vlan == bundle.tag || (vlan != 0 && bundle.trunks.test(vlan));
}

bool ShowsOuterTag(const XBundle& bundle, uint16_t vlan) {
  switch (bundle.mode) {
    case VlanMode::kTrunk:
    case VlanMode::kNativeTagged:
      return true;
    case VlanMode::kNativeUntagged:
      return vlan != bundle.tag;
    case VlanMode::kAccess:
    case VlanMode::kDot1qTunnel:
      break;
  }
  return false;
}

// Whether a header with VLAN id 0 appears: "priority-tags".
bool ShowsPriorityTag(PriorityTags mode, const VlanTag& tag, FlowMask& looked_at) {
  if (mode == PriorityTags::kNever) return false;
  // "always" retains a header that is there, and does not add one that would say nothing.
  if (mode == PriorityTags::kAlways && tag.tpid != 0) return true;
  LookAtPriority(tag, looked_at);
  return tag.priority != 0;
}

}  // namespace

VlanTag OuterTagOf(const FlowKey& key, FlowMask& looked_at) {
  looked_at.vlan_tci = looked_at.vlan_tci | kIdAndPresence;
  looked_at.vlan_tpid = Be16(0xffff);
  return MakeTag(key.vlan_tpid, key.vlan_tci, VlanTag::PriorityFrom::kOuterTag);
}

VlanTag InnerTagOf(const FlowKey& key, FlowMask& looked_at) {
  looked_at.inner_vlan_tci = looked_at.inner_vlan_tci | kIdAndPresence;
  looked_at.inner_vlan_tpid = Be16(0xffff);
  return MakeTag(key.inner_vlan_tpid, key.inner_vlan_tci, VlanTag::PriorityFrom::kInnerTag);
}

bool AdmitsVlanId(const XBundle& bundle, uint16_t id) {
  switch (bundle.mode) {
    case VlanMode::kAccess:
      return id == 0;
    case VlanMode::kTrunk:
      return Trunks(bundle, id);
    case VlanMode::kNativeTagged:
    case VlanMode::kNativeUntagged:
      return id == 0 || Trunks(bundle, id);
    case VlanMode::kDot1qTunnel:
      break;
  }
  return bundle.cvlans.test(id);
}

std::optional<BridgeTags> TagsOnInput(const XBundle& bundle, const TagStack& arrived) {
  VlanTag top;
  if (!arrived.empty()) top = arrived.top();
  if (!AdmitsVlanId(bundle, top.id)) return std::nullopt;

  BridgeTags tags{.outer = top, .below = arrived};
  if (bundle.mode == VlanMode::kDot1qTunnel) {
    if (arrived.full()) return std::nullopt;
    tags.outer = {.tpid = bundle.qinq_ethtype, .id = bundle.tag};
    return tags;
  }
  if (!arrived.empty()) tags.below.Pop();
  if (bundle.mode != VlanMode::kTrunk && top.id == 0) {
    tags.outer.id = bundle.tag;
    if (tags.outer.tpid == 0) tags.outer.tpid = kTpid8021q;
  }
  return tags;
}

bool CarriesVlan(const XBundle& bundle, const BridgeTags& tags) {
  switch (bundle.mode) {
    case VlanMode::kAccess:
      // A customer's tagged packets do not come out untagged at somebody's access port.
      return tags.vlan() == bundle.tag && tags.customer_vlan() == 0;
    case VlanMode::kTrunk:
    case VlanMode::kNativeTagged:
    case VlanMode::kNativeUntagged:
      return Trunks(bundle, tags.vlan());
    case VlanMode::kDot1qTunnel:
      break;
  }
  return tags.vlan() == bundle.tag && bundle.cvlans.test(tags.customer_vlan());
}

TagStack TagsOnOutput(const XBundle& bundle, const BridgeTags& tags, const TagStack& arrived, FlowMask& looked_at) {
  TagStack out = tags.below;
  VlanTag outer;
  if (ShowsOuterTag(bundle, tags.vlan())) {
    outer = tags.outer;
  } else if (bundle.mode == VlanMode::kAccess) {
    // No headers, not even those of mirrored packets that it would not carry otherwise.
    out = TagStack();
  } else if (!out.empty()) {
    // What a tunnel port hides is all that it changes; elsewhere a customer's priority tag is one like any other.
    if (bundle.mode == VlanMode::kDot1qTunnel || out.top().id != 0) return out;
    outer = out.top();
    out.Pop();
  }
  if (bundle.priority_tags != PriorityTags::kNever) {
    outer.priority = arrived.empty() ? 0 : arrived.top().priority;
    outer.priority_from = arrived.empty() ? VlanTag::PriorityFrom::kNowhere : arrived.top().priority_from;
  }
  if (outer.id == 0 && !ShowsPriorityTag(bundle.priority_tags, outer, looked_at)) return out;
  if (outer.tpid == 0) outer.tpid = kTpid8021q;
  out.Push(outer);
  return out;
}

bool SameTag(const VlanTag& a, const VlanTag& b, FlowMask& looked_at) {
  if (a.tpid != b.tpid || a.id != b.id) return false;
  // Copies of one field are equal whatever it holds.
  if (a.priority_from == b.priority_from && a.priority_from != VlanTag::PriorityFrom::kNowhere) return true;
  LookAtPriority(a, looked_at);
  LookAtPriority(b, looked_at);
  return a.priority == b.priority;
}

bool SameTags(const TagStack& a, const TagStack& b, FlowMask& looked_at) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!SameTag(a.at(i), b.at(i), looked_at)) return false;
  }
  return true;
}

void LookAtPriority(const VlanTag& tag, FlowMask& looked_at) {
  constexpr Be16 kPriority{kVlanPriorityMask};
  if (tag.priority_from == VlanTag::PriorityFrom::kOuterTag) looked_at.vlan_tci = looked_at.vlan_tci | kPriority;
  if (tag.priority_from == VlanTag::PriorityFrom::kInnerTag) {
    looked_at.inner_vlan_tci = looked_at.inner_vlan_tci | kPriority;
  }
}

}  // namespace sluice
