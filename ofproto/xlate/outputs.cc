#include "ofproto/xlate/translator.h"

namespace sluice {

// All that want the same tags one after the other, and first what takes the fewest changes.
void Translator::Send(Pass& pass, std::vector<Egress> egresses, Purpose purpose, uint32_t snaplen) {
  while (!egresses.empty() && !failed_) {
    TagStack tags;
    size_t fewest = SIZE_MAX;
    for (const Egress& egress : egresses) {
      size_t changes = composer_.ChangesFor(egress.tags);
      if (changes < fewest) {
        fewest = changes;
        tags = egress.tags;
      }
      if (fewest == 0) break;
    }
    std::vector<Egress> later;
    for (const Egress& egress : egresses) {
      if (SameTags(egress.tags, tags, looked_at_)) {
        Output(pass, egress, purpose, snaplen);
      } else {
        later.push_back(egress);
      }
    }
    egresses = std::move(later);
  }
}

void Translator::Output(Pass& pass, const Egress& egress, Purpose purpose, uint32_t snaplen) {
  if (failed_) return;
  const XPort& port = *egress.port;
  if (pass.in_port.bundle->is_protected && port.bundle->is_protected) {
    return Drop(pass, "Flow is between protected ports, skipping output.");
  }
  bool sent = port.is_patch ? OutputToPeer(pass, egress, snaplen) : OutputToDatapath(pass, egress, purpose, snaplen);
  if (sent && port.bundle->dst_mirrors != 0) Mirror(pass, *port.bundle, port.bundle->dst_mirrors, egress.tags);
}

bool Translator::OutputToDatapath(Pass& pass, const Egress& egress, Purpose purpose, uint32_t snaplen) {
  // Through other bridges it may have come back. A mirror VLAN does include the port that a packet came from.
  if (egress.port == origin_ && (purpose != Purpose::kMirror || pass.depth != 0)) {
    Drop(pass, "{} is the port that the packet came from, skipping output", origin_->name);
    return false;
  }
  composer_.Output(egress.port->dp_port, egress.tags, snaplen);
  if (out_.actions.size() > kMaxActions) Fail(pass, fmt::format("over {} datapath actions", kMaxActions));
  return true;
}

bool Translator::OutputToPeer(Pass& pass, const Egress& egress, uint32_t snaplen) {
  const XPort* peer = egress.port->peer;
  if (peer == nullptr || peer->bundle == nullptr) {
    Drop(pass, "patch port {} has no peer, skipping output", egress.port->name);
    return false;
  }
  // The datapath truncates at an output, and there is none here.
  if (snaplen != 0) {
    Drop(pass, "Mirror truncate to patch port {}, skipping output", egress.port->name);
    return false;
  }
  if (egress.port->patch_counters != nullptr) {
    out_.effects.push_back({.kind = XlateEffect::Kind::kPatchOutput, .patch = egress.port->patch_counters});
  }
  if (peer->patch_counters != nullptr) {
    out_.effects.push_back({.kind = XlateEffect::Kind::kPatchInput, .patch = peer->patch_counters});
  }
  // Mirrors are counted per bridge.
  const XBridge& bridge = *peer->bundle->bridge;
  bool is_same = &bridge == &pass.bridge;
  Pass next{.bridge = bridge,
            .in_port = *peer,
            .arrived = egress.tags,
            .depth = pass.depth + 1,
            .mirrored = is_same ? pass.mirrored : 0};
  EnterBridge(next);
  if (is_same) pass.mirrored = next.mirrored;
  return true;
}

}  // namespace sluice
