#include <bit>

#include "ofproto/xlate/translator.h"

namespace sluice {

// The packet with `tags` came in or goes out at `bundle`, where `candidates` select it, if it is in their VLANs.
void Translator::Mirror(Pass& pass, const XBundle& bundle, MirrorMask candidates, const TagStack& tags) {
  candidates &= ~pass.mirrored;
  if (candidates == 0) return;
  std::optional<BridgeTags> in_bridge = TagsOnInput(bundle, tags);
  if (!in_bridge) return;

  while (candidates != 0 && !failed_) {
    auto number = static_cast<size_t>(std::countr_zero(candidates));
    candidates &= candidates - 1;
    if (number >= pass.bridge.mirrors.size()) break;
    const XMirror& mirror = pass.bridge.mirrors[number];
    if (!mirror.vlans.test(in_bridge->vlan())) continue;
    // Before the output, which may be selected by mirrors too.
    pass.mirrored |= mirror.duplicates | MirrorMask{1} << number;
    size_t before = out_.actions.size();
    MirrorTo(pass, mirror, *in_bridge);
    if (out_.actions.size() != before && mirror.counters != nullptr) {
      out_.effects.push_back({.kind = XlateEffect::Kind::kMirror, .mirror = mirror.counters});
    }
    candidates &= ~pass.mirrored;
  }
}

void Translator::MirrorTo(Pass& pass, const XMirror& mirror, const BridgeTags& tags) {
  if (mirror.output_vlan) return MirrorToVlan(pass, mirror, tags);
  if (mirror.output == nullptr) return;
  std::vector<Egress> egresses;
  AddEgress(pass, *mirror.output, tags, egresses);
  Send(pass, std::move(egresses), Purpose::kMirror, mirror.snaplen);
}

// Neither what is in that VLAN already nor control frames, which would confuse the switches that interpret them.
void Translator::MirrorToVlan(Pass& pass, const XMirror& mirror, const BridgeTags& tags) {
  if (tags.vlan() == *mirror.output_vlan || HasReservedDestination()) return;
  BridgeTags mirrored = tags;
  mirrored.outer.id = *mirror.output_vlan;
  std::vector<Egress> egresses;
  for (const XBundle* bundle : pass.bridge.bundles) {
    if (bundle->mirror_out == 0 && CarriesVlan(*bundle, mirrored)) AddEgress(pass, *bundle, mirrored, egresses);
  }
  Send(pass, std::move(egresses), Purpose::kMirror, mirror.snaplen);
}

}  // namespace sluice
