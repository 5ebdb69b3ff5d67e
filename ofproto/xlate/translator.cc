#include "ofproto/xlate/translator.h"

#include <algorithm>
#include <cstring>

#include "lib/base/log.h"
#include "lib/flow/mac_text.h"

namespace sluice {
namespace {

LogModule log_module("ofproto");

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

Translator::Translator(const XlateIn& in)
    : in_(in), key_(in.key), looked_at_(out_.wildcards), composer_(ArrivingTags(), out_.actions, looked_at_) {}

// The packet's tags within vlan_limit.
TagStack Translator::ArrivingTags() {
  VlanTag outer = OuterTagOf(key_, looked_at_);
  TagStack tags;
  if (!IsPresent(key_.vlan_tci)) return tags;
  if (in_.topology.vlan_limit != 1) {
    VlanTag inner = InnerTagOf(key_, looked_at_);
    if (IsPresent(key_.inner_vlan_tci)) tags.Push(inner);
  }
  tags.Push(outer);
  return tags;
}

XlateOut Translator::Run() && {
  looked_at_.in_port = UINT32_MAX;
  looked_at_.recirc_id = UINT32_MAX;
  looked_at_.eth_type = Be16(0xffff);

  auto found = in_.topology.by_dp_port.find(key_.in_port);
  if (found == in_.topology.by_dp_port.end() || found->second->bundle == nullptr) {
    out_.in_known_port = false;
    out_.drop_reason = fmt::format("no bridge has a port with datapath port number {}", key_.in_port);
    return std::move(out_);
  }
  if (key_.recirc_id != 0) {
    out_.drop_reason = fmt::format("no translation goes on at recirculation id {:#x}", key_.recirc_id);
    return std::move(out_);
  }
  origin_ = found->second;
  Pass pass{.bridge = *origin_->bundle->bridge, .in_port = *origin_, .arrived = composer_.current()};
  EnterBridge(pass);

  if (failed_) {
    // A loop has gathered something in every pass; a flow that drops keeps no more than where its packets come in.
    out_.actions = {};
    auto first = std::find_if(out_.effects.begin(), out_.effects.end(),
                              [](const XlateEffect& effect) { return effect.kind == XlateEffect::Kind::kLearn; });
    out_.effects = first == out_.effects.end() ? std::vector<XlateEffect>{} : std::vector<XlateEffect>{*first};
  }
  if (out_.actions.empty()) out_.drop_reason = reason_;
  return std::move(out_);
}

void Translator::Fail(const Pass& pass, std::string why) {
  failed_ = true;
  reason_ = std::move(why);
  SLUICE_LOG_RATE_LIMITED(log_module, kWarn, 5, "bridge {}: {}: dropping; do its patch ports make a loop?",
                          pass.bridge.name, reason_);
  if (in_.report) in_.report(pass.depth, fmt::format("     >>>> {} <<<<", reason_));
}

void Translator::EnterBridge(Pass& pass) {
  if (in_.report) {
    std::string heading = fmt::format("bridge(\"{}\")", pass.bridge.name);
    in_.report(pass.depth, "");
    in_.report(pass.depth, heading);
    in_.report(pass.depth, std::string(heading.size(), '-'));
  }
  if (pass.depth > kMaxPatchDepth) return Fail(pass, fmt::format("over max translation depth {}", kMaxPatchDepth));
  if (++passes_ > kMaxPasses) return Fail(pass, fmt::format("over {} passes through bridges", kMaxPasses));

  const XBundle& bundle = *pass.in_port.bundle;
  if (bundle.mirror_out != 0) {
    return Drop(pass, "dropping packet received on port {}, which is reserved exclusively for mirroring", bundle.name);
  }
  if (bundle.src_mirrors != 0) Mirror(pass, bundle, bundle.src_mirrors, pass.arrived);
  if (pass.bridge.drops_all) {
    Line(pass, " 0. No match.");
    Line(pass, "    drop");
    reason_ = fmt::format("bridge {} is secure and has no flow for this packet", pass.bridge.name);
    return;
  }
  Line(pass, " 0. priority 0");
  Line(pass, "    NORMAL");
  Normal(pass);
}

void Translator::Normal(Pass& pass) {
  const XBundle& bundle = *pass.in_port.bundle;
  if (HasUnknownTag(pass)) return Drop(pass, "partial VLAN tag, dropping");

  uint16_t id = pass.arrived.empty() ? 0 : pass.arrived.top().id;
  if (!AdmitsVlanId(bundle, id)) {
    Drop(pass, "{}", WhyRefused(bundle, id));
    return Line(pass, "     >> disallowed VLAN VID for this input port, dropping");
  }
  std::optional<BridgeTags> tags = TagsOnInput(bundle, pass.arrived);
  if (!tags) return Drop(pass, "no room for one more VLAN tag, dropping");

  if (!IsAdmissible(pass)) return;
  LearnSource(pass, tags->vlan());
  Forward(pass, *tags);
}

// Whether there is a tag under the known ones where there should be no more: cut off by the end of the packet, without
// its presence bit, or beyond vlan_limit and laid bare by the bridges before. Its VLAN is not known, so it is in none.
bool Translator::HasUnknownTag(const Pass& pass) {
  if (!pass.arrived.empty()) return false;
  if (IsVlanType(key_.eth_type)) return true;
  if (!IsPresent(key_.vlan_tci) || in_.topology.vlan_limit != 1) return false;
  InnerTagOf(key_, looked_at_);
  return IsPresent(key_.inner_vlan_tci);
}

bool Translator::HasReservedDestination() {
  looked_at_.eth_dst = kAllBits;
  return IsReserved(key_.eth_dst);
}

bool Translator::IsAdmissible(Pass& pass) {
  if (!pass.bridge.forward_bpdu && HasReservedDestination()) {
    Drop(pass, "packet has reserved destination MAC, dropping");
    return false;
  }
  // The other ports of a bond only carry what the far side floods, a second time.
  if (ActivePort(*pass.in_port.bundle) != &pass.in_port && pass.in_port.bundle->ports.size() > 1) {
    Drop(pass, "bonding refused admissibility, dropping");
    return false;
  }
  return true;
}

bool Translator::IsGratuitousArp() {
  if (key_.eth_type != kArp) return false;
  looked_at_.eth_dst = kAllBits;
  if (key_.eth_dst != kBroadcast) return false;
  looked_at_.ip_proto = 0xff;
  if (key_.ip_proto == kArpReply) return true;
  if (key_.ip_proto != kArpRequest) return false;
  looked_at_.ipv4_src = looked_at_.ipv4_dst = Be32(UINT32_MAX);
  return key_.ipv4_src == key_.ipv4_dst;
}

void Translator::LearnSource(Pass& pass, uint16_t vlan) {
  const XBundle& bundle = *pass.in_port.bundle;
  if (pass.bridge.macs == nullptr || pass.bridge.flood_vlans.test(vlan)) return;
  looked_at_.eth_src = kAllBits;
  if ((key_.eth_src[0] & 1) != 0) return;

  bool gratuitous_arp = IsGratuitousArp();
  bool is_bond = bundle.ports.size() > 1;
  if (in_.learn && pass.bridge.macs->Learn(vlan, key_.eth_src, bundle.id, gratuitous_arp, in_.now, is_bond)) {
    Note(pass, "learned that {} is on port {} in VLAN {}", FormatMac(key_.eth_src), bundle.name, vlan);
  }
  out_.effects.push_back({.kind = XlateEffect::Kind::kLearn,
                          .macs = pass.bridge.macs,
                          .vlan = vlan,
                          .mac = key_.eth_src,
                          .bundle = bundle.id});
}

void Translator::Forward(Pass& pass, const BridgeTags& tags) {
  looked_at_.eth_dst = kAllBits;
  std::optional<uint64_t> learned;
  if (pass.bridge.macs != nullptr && !pass.bridge.flood_vlans.test(tags.vlan())) {
    learned = pass.bridge.macs->Lookup(tags.vlan(), key_.eth_dst);
    out_.lookups.push_back({.macs = pass.bridge.macs, .vlan = tags.vlan(), .mac = key_.eth_dst, .found = learned});
  }
  if (!learned) {
    Note(pass, "no learned MAC for destination, flooding");
    return Flood(pass, tags);
  }
  const XBundle* bundle = pass.bridge.FindBundle(*learned);
  // The statistics of a flow from before a change of configuration may have brought the address back.
  if (bundle == nullptr || bundle->mirror_out != 0 || !CarriesVlan(*bundle, tags)) {
    Note(pass, "learned port does not carry VLAN {}, flooding", tags.vlan());
    return Flood(pass, tags);
  }
  if (bundle == pass.in_port.bundle) return Drop(pass, "learned port is input port, dropping");
  Note(pass, "forwarding to learned port");
  std::vector<Egress> egresses;
  AddEgress(pass, *bundle, tags, egresses);
  Send(pass, std::move(egresses), Purpose::kForward, 0);
}

void Translator::Flood(Pass& pass, const BridgeTags& tags) {
  std::vector<Egress> egresses;
  for (const XBundle* bundle : pass.bridge.bundles) {
    if (bundle != pass.in_port.bundle && bundle->floodable && bundle->mirror_out == 0 && CarriesVlan(*bundle, tags)) {
      AddEgress(pass, *bundle, tags, egresses);
    }
  }
  if (egresses.empty()) return Drop(pass, "no other port carries VLAN {}", tags.vlan());
  Send(pass, std::move(egresses), Purpose::kForward, 0);
}

void Translator::AddEgress(Pass& pass, const XBundle& bundle, const BridgeTags& tags, std::vector<Egress>& egresses) {
  const XPort* port = ActivePort(bundle);
  if (port == nullptr) return Drop(pass, "no interface of port {} is up", bundle.name);
  egresses.push_back({port, TagsOnOutput(bundle, tags, pass.arrived, looked_at_)});
}

}  // namespace sluice
