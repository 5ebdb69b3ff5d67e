// Translator: one run of Translate(). Internal to this folder.
//
// A packet passes bridges: the one of its port, and through patch ports others. A pass looks at the tags that arrived
// and outputs copies with other tags; what one pass does to the packet, the passes after it in the list of actions find
// undone, because each output names the tags that it wants (ActionComposer).
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "ofproto/xlate/composer.h"
#include "ofproto/xlate/vlan_tags.h"
#include "ofproto/xlate/xlate.h"

namespace sluice {

class Translator {
 public:
  explicit Translator(const XlateIn& in);

  XlateOut Run() &&;

 private:
  // What bounds the work and the list where bridges form loops or wide trees.
  static constexpr int kMaxPasses = 4096;
  static constexpr size_t kMaxActions = 65536;

  struct Pass {
    const XBridge& bridge;
    const XPort& in_port;
    TagStack arrived;
    int depth = 0;            // patch ports so far
    MirrorMask mirrored = 0;  // to whose destinations this packet went already, in this bridge
  };
  struct Egress {
    const XPort* port = nullptr;
    TagStack tags;
  };
  enum class Purpose { kForward, kMirror };

  // Bridges (translator.cc).
  TagStack ArrivingTags();
  void EnterBridge(Pass& pass);
  void Normal(Pass& pass);
  bool IsAdmissible(Pass& pass);
  bool HasUnknownTag(const Pass& pass);
  void LearnSource(Pass& pass, uint16_t vlan);
  bool IsGratuitousArp();
  void Forward(Pass& pass, const BridgeTags& tags);
  void Flood(Pass& pass, const BridgeTags& tags);

  // Outputs (outputs.cc).
  void AddEgress(Pass& pass, const XBundle& bundle, const BridgeTags& tags, std::vector<Egress>& egresses);
  void Send(Pass& pass, std::vector<Egress> egresses, Purpose purpose, uint32_t snaplen);
  void Output(Pass& pass, const Egress& egress, Purpose purpose, uint32_t snaplen);
  bool OutputToDatapath(Pass& pass, const Egress& egress, Purpose purpose, uint32_t snaplen);
  bool OutputToPeer(Pass& pass, const Egress& egress, uint32_t snaplen);

  // Mirrors (mirroring.cc).
  void Mirror(Pass& pass, const XBundle& bundle, MirrorMask candidates, const TagStack& tags);
  void MirrorTo(Pass& pass, const XMirror& mirror, const BridgeTags& tags);
  void MirrorToVlan(Pass& pass, const XMirror& mirror, const BridgeTags& tags);

  bool HasReservedDestination();

  // Lines for a trace. Drop() also remembers why.
  template <typename... Args>
  void Note(const Pass& pass, fmt::format_string<Args...> format, Args&&... args) {
    if (in_.report) in_.report(pass.depth, "     -> " + fmt::format(format, std::forward<Args>(args)...));
  }
  template <typename... Args>
  void Drop(const Pass& pass, fmt::format_string<Args...> format, Args&&... args) {
    reason_ = fmt::format(format, std::forward<Args>(args)...);
    if (in_.report) in_.report(pass.depth, "     >> " + reason_);
  }
  // Gives the whole packet up.
  void Fail(const Pass& pass, std::string why);
  void Line(const Pass& pass, const char* text) {
    if (in_.report) in_.report(pass.depth, text);
  }

  const XlateIn& in_;
  const FlowKey& key_;
  XlateOut out_;
  FlowMask& looked_at_;
  ActionComposer composer_;
  const XPort* origin_ = nullptr;  // the port that the packet came from
  std::string reason_;
  int passes_ = 0;
  bool failed_ = false;
};

}  // namespace sluice
