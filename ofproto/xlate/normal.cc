#include <algorithm>

#include "lib/flow/mac_text.h"
#include "ofproto/xlate/translator.h"

namespace sluice {
namespace {

constexpr Be16 kArp{0x0806};
constexpr uint8_t kArpRequest = 1;
constexpr uint8_t kArpReply = 2;
constexpr MacAddress kBroadcast = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
constexpr MacAddress kAllBits = kBroadcast;

// Control protocols that a bridge keeps to the link they came from, with their masks, as "forward-bpdu" in
// ovs-vswitchd.conf.db(5) lists them.
struct ReservedAddress {
  MacAddress address;
  uint8_t last_byte_mask;
};
constexpr ReservedAddress kReserved[] = {
    {{0x01, 0x80, 0xc2, 0x00, 0x00, 0x00}, 0xf0},  // IEEE 802.1D: STP, pause, LACP, LLDP
    {{0x00, 0xe0, 0x2b, 0x00, 0x00, 0x00}, 0xff},  // Extreme: EDP
    {{0x00, 0xe0, 0x2b, 0x00, 0x00, 0x04}, 0xff},  // Extreme: EAPS
    {{0x00, 0xe0, 0x2b, 0x00, 0x00, 0x06}, 0xff}, {{0x01, 0x00, 0x0c, 0x00, 0x00, 0x00}, 0xff},  // Cisco: ISL
    {{0x01, 0x00, 0x0c, 0xcc, 0xcc, 0xc0}, 0xf0},  // Cisco: CFM; CDP, VTP, DTP, PAgP, UDLD; PVST+
    {{0x01, 0x00, 0x0c, 0xcd, 0xcd, 0xcd}, 0xff},  // Cisco: STP uplink fast
};

bool IsReserved(const MacAddress& mac) {
  return std::any_of(std::begin(kReserved), std::end(kReserved), [&mac](const ReservedAddress& reserved) {
    return std::equal(mac.begin(), mac.end() - 1, reserved.address.begin()) &&
           (mac[5] & reserved.last_byte_mask) == reserved.address[5];
  });
}

bool IsVlanType(Be16 type) { return type == Be16(0x8100) || type == Be16(0x88a8); }
bool IsPresent(Be16 tci) { return (tci.Get() & kVlanPresent) != 0; }

// A bond's packets come and go by the first of its ports that is up.
const XPort* ActivePort(const XBundle& bundle) {
  if (bundle.ports.size() == 1) return bundle.ports.front();
  auto up = std::find_if(bundle.ports.begin(), bundle.ports.end(), [](const XPort* port) { return port->up; });
  return up == bundle.ports.end() ? nullptr : *up;
}

std::string WhyRefused(const XBundle& bundle, uint16_t id) {
  switch (bundle.mode) {
    case VlanMode::kAccess:
      return fmt::format("dropping VLAN {} tagged packet received on port {} configured as VLAN {} access port", id,
                         bundle.name, bundle.tag);
    case VlanMode::kTrunk:
    case VlanMode::kNativeTagged:
    case VlanMode::kNativeUntagged:
      return fmt::format("dropping VLAN {} packet received on port {} not configured for trunking VLAN {}", id,
                         bundle.name, id);
    case VlanMode::kDot1qTunnel:
      break;
  }
  return fmt::format("dropping VLAN {} packet received on dot1q-tunnel port {} that excludes this VLAN", id,
                     bundle.name);
}

}  // namespace

void Translator::Normal(Pass& pass) {
  FindInPort(pass);
  if (pass.in_bundle == nullptr) {
    if (trace_ != nullptr) {
      AddNode(TraceNode::Type::kError, fmt::format("received packet on unknown port {}", pass.flow.in_port));
    }
    return Drop("no input bundle, dropping");
  }
  const XBundle& bundle = *pass.in_bundle;
  if (bundle.mirror_out != 0) {
    return Drop("dropping packet received on port {}, which is reserved exclusively for mirroring", bundle.name);
  }
  LookAtTags();
  if (HasUnknownTag(pass)) return Drop("partial VLAN tag, dropping");

  uint16_t id = pass.tags.empty() ? 0 : pass.tags.top().id;
  if (!AdmitsVlanId(bundle, id)) {
    Drop("{}", WhyRefused(bundle, id));
    if (trace_ != nullptr) AddNode(TraceNode::Type::kWarning, "disallowed VLAN VID for this input port, dropping");
    return;
  }
  std::optional<BridgeTags> tags = TagsOnInput(bundle, pass.tags);
  if (!tags) return Drop("no room for one more VLAN tag, dropping");

  if (!IsAdmissible(pass)) return;
  LearnSource(pass, tags->vlan());
  Forward(pass, *tags);
}

// Whether there is a tag under the known ones where there should be no more: cut off by the end of the packet, without
// its presence bit, or beyond vlan_limit and laid bare by the bridges before. Its VLAN is not known, so it is in none.
bool Translator::HasUnknownTag(const Pass& pass) {
  if (!pass.tags.empty()) return false;
  if (IsVlanType(key_.eth_type)) return true;
  if (!IsPresent(key_.vlan_tci) || in_.topology.vlan_limit != 1) return false;
  InnerTagOf(key_, looked_at_);
  return IsPresent(key_.inner_vlan_tci);
}

bool Translator::HasReservedDestination(const Pass& pass) {
  looked_at_.eth_dst = kAllBits;
  return IsReserved(pass.flow.packet.eth_dst);
}

bool Translator::IsAdmissible(Pass& pass) {
  if (!pass.bridge.forward_bpdu && HasReservedDestination(pass)) {
    Drop("packet has reserved destination MAC, dropping");
    return false;
  }
  // The other ports of a bond only carry what the far side floods, a second time.
  if (pass.in_bundle->ports.size() > 1 && ActivePort(*pass.in_bundle) != pass.in_port) {
    Drop("bonding refused admissibility, dropping");
    return false;
  }
  return true;
}

bool Translator::IsGratuitousArp(const Pass& pass) {
  // Also behind a tag that OpenFlow does not see.
  const FlowKey& packet = hides_inner_tag_ ? key_ : pass.flow.packet;
  if (packet.eth_type != kArp) return false;
  looked_at_.eth_dst = kAllBits;
  if (packet.eth_dst != kBroadcast) return false;
  seen_behind_tags_.ip_proto = 0xff;
  if (packet.ip_proto == kArpReply) return true;
  if (packet.ip_proto != kArpRequest) return false;
  seen_behind_tags_.ipv4_src = seen_behind_tags_.ipv4_dst = Be32(UINT32_MAX);
  return packet.ipv4_src == packet.ipv4_dst;
}

void Translator::LearnSource(Pass& pass, uint16_t vlan) {
  const XBundle& bundle = *pass.in_bundle;
  if (pass.in_port == nullptr || pass.bridge.macs == nullptr || pass.bridge.flood_vlans.test(vlan)) return;
  looked_at_.eth_src = kAllBits;
  if ((pass.flow.packet.eth_src[0] & 1) != 0) return;

  bool gratuitous_arp = IsGratuitousArp(pass);
  bool is_bond = bundle.ports.size() > 1;
  if (in_.learn && pass.bridge.macs->Learn(vlan, pass.flow.packet.eth_src, bundle.id, gratuitous_arp, in_.now, is_bond)) {
    Note("learned that {} is on port {} in VLAN {}", FormatMac(pass.flow.packet.eth_src), bundle.name, vlan);
  }
  out_.effects.push_back({.kind = XlateEffect::Kind::kLearn,
                          .macs = pass.bridge.macs,
                          .vlan = vlan,
                          .mac = pass.flow.packet.eth_src,
                          .bundle = bundle.id});
}

void Translator::Forward(Pass& pass, const BridgeTags& tags) {
  looked_at_.eth_dst = kAllBits;
  std::optional<uint64_t> learned;
  if (pass.bridge.macs != nullptr && !pass.bridge.flood_vlans.test(tags.vlan())) {
    learned = pass.bridge.macs->Lookup(tags.vlan(), pass.flow.packet.eth_dst);
    out_.lookups.push_back({.macs = pass.bridge.macs, .vlan = tags.vlan(), .mac = pass.flow.packet.eth_dst, .found = learned});
  }
  if (!learned) {
    Note("no learned MAC for destination, flooding");
    return Flood(pass, tags);
  }
  const XBundle* bundle = pass.bridge.FindBundle(*learned);
  // The statistics of a flow from before a change of configuration may have brought the address back.
  if (bundle == nullptr || bundle->mirror_out != 0 || !CarriesVlan(*bundle, tags)) {
    Note("learned port does not carry VLAN {}, flooding", tags.vlan());
    return Flood(pass, tags);
  }
  if (bundle == pass.in_bundle) return Drop("learned port is input port, dropping");
  Note("forwarding to learned port");
  std::vector<Egress> egresses;
  AddEgress(pass, *bundle, tags, egresses);
  Send(pass, std::move(egresses), Purpose::kForward, 0);
}

void Translator::Flood(Pass& pass, const BridgeTags& tags) {
  std::vector<Egress> egresses;
  for (const XBundle* bundle : pass.bridge.bundles) {
    if (bundle != pass.in_bundle && bundle->floodable && bundle->mirror_out == 0 && CarriesVlan(*bundle, tags)) {
      AddEgress(pass, *bundle, tags, egresses);
    }
  }
  if (egresses.empty()) return Drop("no other port carries VLAN {}", tags.vlan());
  Send(pass, std::move(egresses), Purpose::kForward, 0);
}

void Translator::AddEgress(Pass& pass, const XBundle& bundle, const BridgeTags& tags, std::vector<Egress>& egresses) {
  const XPort* port = ActivePort(bundle);
  if (port == nullptr) return Drop("no interface of port {} is up", bundle.name);
  egresses.push_back({port, TagsOnOutput(bundle, tags, pass.tags, looked_at_)});
}

}  // namespace sluice
