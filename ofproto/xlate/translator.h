// Translator: one run of Translate(). Internal to this folder.
//
// A packet passes bridges: the one of its port, and through patch ports others. A pass has the packet as the actions of
// that bridge have made it (`flow`, `tags`); what the datapath's packet is like at a point of the list of actions, the
// composer knows, and changes it to what an output wants just before the output. So what one pass does to the packet,
// those after it in the list find undone.
#pragma once

#include <absl/types/span.h>
#include <fmt/format.h>

#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/openflow/actions.h"
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
    const XPort* in_port;      // nullptr: it is of no port of the bridge
    const XBundle* in_bundle;  // nullptr: an unknown port
    TagStack arrived;
    int depth = 0;            // patch ports so far
    MirrorMask mirrored = 0;  // to whose destinations this packet went already, in this bridge

    // The packet as it is now. The flow's VLAN fields are `tags` as far as vlan_limit shows them.
    OfFlow flow;
    TagStack tags;
    bool was_mpls = false;  // what is under the popped labels is not known

    // Where in the tables it is.
    TableVersion version = 0;
    uint8_t table = 0;
    RulePtr rule;
    bool is_miss = false;         // the rule is its table's miss entry
    uint64_t frozen_cookie = UINT64_MAX;  // without a rule: of the one that the packet was frozen in
    int resubmit_depth = 0;
    bool in_group = false;
    bool in_action_set = false;
    bool in_packet_out = false;

    std::vector<SubValue> stack;
    OfActions action_set;

    // exit: nothing more of the packet's lists of actions is carried out; or, if it freezes, it is kept.
    bool exit = false;
    bool freezing = false;
    bool frozen_this = false;  // the action itself is to be carried out again
    const OfController* pause = nullptr;  // what it freezes for: to be resumed by a controller
    std::optional<HashAction> hash;       // or to have this in dp_hash
    std::vector<FrozenFrame> frames;
  };
  struct Egress {
    const XPort* port = nullptr;
    TagStack tags;
  };
  enum class Purpose { kForward, kMirror, kOpenFlow };
  // What comes after an action of a list.
  enum class Step { kNext, kEndList };
  // The list that an action is in.
  struct List {
    absl::Span<const OfAction> rest;  // behind it
    bool is_last = false;             // nothing of the packet is needed behind the list
  };

  // Bridges (translator.cc).
  Pass FirstPass(const XBridge& bridge, const XPort* in_port);
  void EnterBridge(Pass& pass);
  void StartFromPort();
  void StartFrom(const XBridge& bridge, const OfFlow& pipeline, const OfActions* actions, const FrozenState* frozen);
  void FinishPass(Pass& pass);
  FlowMask Fold() const;
  // Another port may be named as the packet's input port by actions.
  void FindInPort(Pass& pass);

  // NORMAL (normal.cc).
  void Normal(Pass& pass);
  bool IsAdmissible(Pass& pass);
  bool HasUnknownTag(const Pass& pass);
  void LearnSource(Pass& pass, uint16_t vlan);
  bool IsGratuitousArp(const Pass& pass);
  void Forward(Pass& pass, const BridgeTags& tags);
  void Flood(Pass& pass, const BridgeTags& tags);
  bool HasReservedDestination(const Pass& pass);

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

  // Tables (openflow/tables.cc).
  void UsePipeline(Pass& pass);
  void RunTables(Pass& pass);
  void Table(Pass& pass, uint32_t in_port, uint8_t table, bool may_packet_in, bool is_last);
  RulePtr LookUp(Pass& pass, uint32_t in_port, uint8_t table, bool& drops_fragment);
  bool CheckLimits(Pass& pass);
  // The rule's actions, or what is done where there is none.
  void RunRule(Pass& pass, RulePtr rule, bool drops_fragment, bool may_packet_in, bool is_last);
  bool WantsMiss(const Pass& pass) const;

  // Lists of actions (openflow/dispatch.cc).
  void RunList(Pass& pass, absl::Span<const OfAction> actions, bool is_last, bool is_group_bucket = false);
  void RunActionSet(Pass& pass);
  void RunBucketSet(Pass& pass, const OfActions& actions, bool is_last);
  OfActions InSetOrder(const OfActions& actions) const;
  Step Do(Pass& pass, const OfOutput& action, const List& list);
  Step Do(Pass& pass, const OfOutputReg& action, const List& list);
  Step Do(Pass& pass, const OfOutputTrunc& action, const List& list);
  Step Do(Pass& pass, const OfController& action, const List& list);
  Step Do(Pass& pass, const OfEnqueue& action, const List& list);
  Step Do(Pass& pass, const OfBundle& action, const List& list);
  Step Do(Pass& pass, const OfMultipath& action, const List& list);
  Step Do(Pass& pass, const OfGroup& action, const List& list);
  Step Do(Pass& pass, const OfSetVlanVid& action, const List& list);
  Step Do(Pass& pass, const OfSetVlanPcp& action, const List& list);
  Step Do(Pass& pass, const OfStripVlan& action, const List& list);
  Step Do(Pass& pass, const OfPushVlan& action, const List& list);
  Step Do(Pass& pass, const OfSetEth& action, const List& list);
  Step Do(Pass& pass, const OfSetIpv4& action, const List& list);
  Step Do(Pass& pass, const OfSetL4Port& action, const List& list);
  Step Do(Pass& pass, const OfSetIpDscp& action, const List& list);
  Step Do(Pass& pass, const OfSetIpEcn& action, const List& list);
  Step Do(Pass& pass, const OfSetIpTtl& action, const List& list);
  Step Do(Pass& pass, const OfSetField& action, const List& list);
  Step Do(Pass& pass, const OfMove& action, const List& list);
  Step Do(Pass& pass, const OfStackPush& action, const List& list);
  Step Do(Pass& pass, const OfStackPop& action, const List& list);
  Step Do(Pass& pass, const OfDecTtl& action, const List& list);
  Step Do(Pass& pass, const OfSetMplsLabel& action, const List& list);
  Step Do(Pass& pass, const OfSetMplsTc& action, const List& list);
  Step Do(Pass& pass, const OfSetMplsTtl& action, const List& list);
  Step Do(Pass& pass, const OfDecMplsTtl& action, const List& list);
  Step Do(Pass& pass, const OfPushMpls& action, const List& list);
  Step Do(Pass& pass, const OfPopMpls& action, const List& list);
  Step Do(Pass& pass, const OfDecNshTtl& action, const List& list);
  Step Do(Pass& pass, const OfSetQueue& action, const List& list);
  Step Do(Pass& pass, const OfPopQueue& action, const List& list);
  Step Do(Pass& pass, const OfFinTimeout& action, const List& list);
  Step Do(Pass& pass, const OfResubmit& action, const List& list);
  Step Do(Pass& pass, const OfLearn& action, const List& list);
  Step Do(Pass& pass, const OfConjunction& action, const List& list);
  Step Do(Pass& pass, const OfNote& action, const List& list);
  Step Do(Pass& pass, const OfSample& action, const List& list);
  Step Do(Pass& pass, const OfCheckPktLarger& action, const List& list);
  Step Do(Pass& pass, const OfDeleteField& action, const List& list);
  Step Do(Pass& pass, const OfExit& action, const List& list);
  Step Do(Pass& pass, const OfClone& action, const List& list);
  Step Do(Pass& pass, const OfMeter& action, const List& list);
  Step Do(Pass& pass, const OfClearActions& action, const List& list);
  Step Do(Pass& pass, const OfWriteActions& action, const List& list);
  Step Do(Pass& pass, const OfWriteMetadata& action, const List& list);
  Step Do(Pass& pass, const OfGotoTable& action, const List& list);
  bool CanUndo(absl::Span<const OfAction> actions) const;

  // Output to OpenFlow ports (openflow/port_outputs.cc).
  void OutputToPort(Pass& pass, OfPort port, uint16_t max_len, bool is_last);
  void OutputToOfPort(Pass& pass, OfPort port, uint32_t truncate);
  void FloodPorts(Pass& pass, bool all);

  // Fields (openflow/fields.cc).
  // Whether the packet has the field; looks at what tells.
  bool HasField(const Pass& pass, const FieldInfo& field);
  SubValue ReadField(const Pass& pass, const Subfield& subfield);
  void WriteField(Pass& pass, const Subfield& subfield, const SubValue& value);
  // Bits of a field.
  void SetBits(Pass& pass, const FieldInfo& field, const FieldValue& value, const FieldValue& mask);
  void SetFieldTo(Pass& pass, FieldId field, uint64_t value);
  bool IsIp(const Pass& pass);
  Step SendInvalidTtl(Pass& pass, absl::Span<const uint16_t> controllers);
  // Tags (openflow/tags.cc). What the flow's VLAN fields were changed to goes into `tags`, and back.
  void TagsFromFlow(Pass& pass, Be16 before);
  void TagsToFlow(Pass& pass);
  void LookAtTags();
  void LookAtLabel();
  void ReplaceTopTag(Pass& pass, const VlanTag& tag);

  // Groups (openflow/groups.cc).
  void RunBucket(Pass& pass, const Group& group, size_t bucket, bool is_last);
  bool IsAlive(const Pass& pass, const GroupBucket& bucket, int depth);
  bool GroupIsAlive(const Pass& pass, uint32_t group, int depth);
  std::optional<size_t> FirstAlive(const Pass& pass, const Group& group);
  std::optional<size_t> SelectByFields(Pass& pass, const Group& group);
  std::optional<size_t> SelectByDpHash(Pass& pass, const Group& group);
  bool PortIsAlive(const Pass& pass, OfPort port) const;
  std::optional<OfPort> ChooseMember(Pass& pass, const OfBundle& action);

  // Controllers (openflow/controller.cc).
  void SendToController(Pass& pass, uint16_t max_len, uint16_t controller_id, OfPacketIn::Reason reason,
                        absl::Span<const uint8_t> userdata, uint32_t meter);
  PacketInRecord MakeRecord(const Pass& pass, OfPacketIn::Reason reason);
  void AddRecord(const Pass& pass, PacketInRecord record);
  uint64_t Cookie(const Pass& pass) const;

  // Recirculation (openflow/freezing.cc).
  void Freeze(Pass& pass, bool this_action);
  void KeepRest(Pass& pass, absl::Span<const OfAction> rest);
  void FinishFreezing(Pass& pass);
  void Thaw(Pass& pass, const FrozenState& state);
  // Freezes if the action needs what lies under popped labels. True: it did.
  bool RecirculatesFor(Pass& pass, const OfAction& action);

  // Lines for a trace. Drop() also remembers why.
  template <typename... Args>
  void Note(fmt::format_string<Args...> format, Args&&... args) {
    if (trace_ != nullptr) AddNode(TraceNode::Type::kDetail, fmt::format(format, std::forward<Args>(args)...));
  }
  template <typename... Args>
  void Drop(fmt::format_string<Args...> format, Args&&... args) {
    reason_ = fmt::format(format, std::forward<Args>(args)...);
    if (trace_ != nullptr) AddNode(TraceNode::Type::kWarning, reason_);
  }
  // Gives the whole packet up.
  void Fail(const Pass& pass, std::string why);
  std::deque<TraceNode>& AddNode(TraceNode::Type type, std::string text) {
    return trace_->emplace_back(TraceNode{type, std::move(text), {}}).children;
  }
  // While it lives, what is reported belongs to a new node.
  class TraceScope {
   public:
    TraceScope(Translator& translator, TraceNode::Type type, const std::string& text)
        : translator_(translator), before_(translator.trace_) {
      if (before_ != nullptr) translator.trace_ = &translator.AddNode(type, text);
    }
    ~TraceScope() { translator_.trace_ = before_; }
    TraceScope(const TraceScope&) = delete;
    TraceScope& operator=(const TraceScope&) = delete;

   private:
    Translator& translator_;
    std::deque<TraceNode>* before_;
  };

  const XlateIn& in_;
  const FlowKey& key_;
  XlateOut out_;
  OfMask wildcards_;
  FlowMask& looked_at_;  // the packet's part of them
  FlowMask seen_behind_tags_;  // of the packet, whether or not there are tags beyond vlan_limit
  ActionComposer composer_;
  const XPort* origin_ = nullptr;  // the port that the packet came from
  std::deque<TraceNode>* trace_;
  std::string reason_;
  bool hides_inner_tag_ = false;  // the packet has a tag below vlan_limit: OpenFlow sees nothing behind that
  int passes_ = 0;
  int resubmits_ = 0;
  bool failed_ = false;
};

}  // namespace sluice
