// VLAN tags in translation: what a port's VLAN mode makes of them on the way in and on the way out, as
// ovs-vswitchd.conf.db(5) "VLAN Configuration" says. Pure functions; what of the flow key they looked at they mark in a
// mask.
//
// Inside a bridge a packet always has an outer tag, its VLAN; its id is 0 if the packet is in no other VLAN, and
// whether the header exists on the wire is decided on output. Further tags lie below and stay as they are.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "lib/flow/flow_key.h"
#include "ofproto/xlate/topology.h"

namespace sluice {

constexpr uint16_t kVlanIdMask = 0x0fff;
constexpr uint16_t kVlanPriorityMask = 0xe000;
constexpr uint16_t kTpid8021q = 0x8100;

// All in host byte order. The TPID and id of tags from the packet are always matched, the priority only where it makes
// a difference: so a tag knows from where it has it.
struct VlanTag {
  enum class PriorityFrom : uint8_t { kNowhere, kOuterTag, kInnerTag };  // of the flow key

  uint16_t tpid = 0;  // 0: there was no header
  uint16_t id = 0;
  uint16_t priority = 0;  // in the place it has in the TCI
  PriorityFrom priority_from = PriorityFrom::kNowhere;
};

// The tags of a packet, as far as they are known, outermost on top.
class TagStack {
 public:
  // Of the packet up to two; the others are service tags.
  static constexpr size_t kMaxTags = 8;

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  bool full() const { return size_ == kMaxTags; }
  const VlanTag& top() const { return tags_[size_ - 1]; }
  const VlanTag& at(size_t from_bottom) const { return tags_[from_bottom]; }
  void Push(const VlanTag& tag) {
    assert(!full());
    tags_[size_++] = tag;
  }
  void Pop() { --size_; }

 private:
  std::array<VlanTag, kMaxTags> tags_{};
  size_t size_ = 0;
};

struct BridgeTags {
  VlanTag outer;
  TagStack below;

  uint16_t vlan() const { return outer.id; }
  // Of the tag below, 0 if there is none: the customer's VLAN when the outer tag is a provider's.
  uint16_t customer_vlan() const { return below.empty() ? 0 : below.top().id; }
};

// A key's tag, which is present, and the mask bits for what is always matched of it.
VlanTag OuterTagOf(const FlowKey& key, FlowMask& looked_at);
VlanTag InnerTagOf(const FlowKey& key, FlowMask& looked_at);

// Whether a packet with this tag id (0 if it has none) may come in.
bool AdmitsVlanId(const XBundle& bundle, uint16_t id);
// Nothing if it may not come in, or has so many tags that none can be added.
std::optional<BridgeTags> TagsOnInput(const XBundle& bundle, const TagStack& arrived);

// Whether the bundle carries packets of this VLAN (and customer's VLAN).
bool CarriesVlan(const XBundle& bundle, const BridgeTags& tags);
// What goes out there. `arrived` is what came into this bridge: priority tags take their priority from it.
TagStack TagsOnOutput(const XBundle& bundle, const BridgeTags& tags, const TagStack& arrived, FlowMask& looked_at);

// Whether they are equal on the wire.
bool SameTag(const VlanTag& a, const VlanTag& b, FlowMask& looked_at);
bool SameTags(const TagStack& a, const TagStack& b, FlowMask& looked_at);
void LookAtPriority(const VlanTag& tag, FlowMask& looked_at);

}  // namespace sluice
