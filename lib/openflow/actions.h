// OpenFlow actions and instructions (ovs-actions(7)), as one list in the order in which they are carried out.
//
// Instructions of OpenFlow 1.1+ are entries of the same list, at its end, in the order meter, apply (the actions
// themselves), clear_actions, write_actions, write_metadata, goto_table. Plain data, in host byte order except for
// packet fields' types; made on decoding or parsing, read when flows are translated.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lib/openflow/field.h"
#include "lib/openflow/match.h"
#include "lib/openflow/wire.h"

namespace sluice {

struct OfAction;
using OfActions = std::vector<OfAction>;

struct OfOutput {
  OfPort port = 0;
  uint16_t max_len = 0;  // to the controller: bytes of the packet
  friend bool operator==(const OfOutput&, const OfOutput&) = default;
};
struct OfOutputReg {  // output:NXM_NX_REG0[0..15]
  Subfield source;
  uint16_t max_len = kNoMaxLen;
  friend bool operator==(const OfOutputReg&, const OfOutputReg&) = default;
};
struct OfOutputTrunc {  // output(port=1,max_len=100)
  OfPort port = 0;
  uint32_t max_len = 0;
  friend bool operator==(const OfOutputTrunc&, const OfOutputTrunc&) = default;
};
struct OfController {
  uint16_t max_len = kNoMaxLen;
  uint16_t controller_id = 0;
  uint8_t reason = 1;  // OFPR_ACTION
  std::vector<uint8_t> userdata;
  bool pause = false;
  uint32_t meter_id = 0;  // 0: none
  friend bool operator==(const OfController&, const OfController&) = default;
};
struct OfEnqueue {  // OpenFlow 1.0
  OfPort port = 0;
  uint32_t queue = 0;
  friend bool operator==(const OfEnqueue&, const OfEnqueue&) = default;
};
struct OfBundle {  // bundle, bundle_load
  enum class Algorithm : uint8_t { kActiveBackup, kHrw };
  Algorithm algorithm = Algorithm::kActiveBackup;
  uint8_t hash_fields = 0;  // OfHashFields
  uint16_t basis = 0;
  std::vector<OfPort> members;
  Subfield destination;  // field nullptr: output
  friend bool operator==(const OfBundle&, const OfBundle&) = default;
};
// enum nx_hash_fields.
enum OfHashFields : uint8_t {
  kHashEthSrc = 0,
  kHashSymmetricL4 = 1,
  kHashSymmetricL3L4 = 2,
  kHashSymmetricL3L4Udp = 3,
  kHashNwSrc = 4,
  kHashNwDst = 5,
  kHashSymmetricL3 = 6,
};
struct OfMultipath {
  enum class Algorithm : uint8_t { kModuloN, kHashThreshold, kHrw, kIterHash };
  uint8_t hash_fields = 0;
  uint16_t basis = 0;
  Algorithm algorithm = Algorithm::kModuloN;
  uint16_t max_link = 0;  // links - 1
  uint32_t arg = 0;
  Subfield destination;
  friend bool operator==(const OfMultipath&, const OfMultipath&) = default;
};
struct OfGroup {
  uint32_t group = 0;
  friend bool operator==(const OfGroup&, const OfGroup&) = default;
};

// OpenFlow 1.0/1.1 actions on fields; later versions write most of them as set_field. `flow_has_vlan` as decoded:
// mod_vlan_vid pushes a tag where there is none (1.0).
struct OfSetVlanVid {
  uint16_t vid = 0;
  bool push_if_needed = true;
  friend bool operator==(const OfSetVlanVid&, const OfSetVlanVid&) = default;
};
struct OfSetVlanPcp {
  uint8_t pcp = 0;
  bool push_if_needed = true;
  friend bool operator==(const OfSetVlanPcp&, const OfSetVlanPcp&) = default;
};
struct OfStripVlan {  // strip_vlan, pop_vlan
  friend bool operator==(const OfStripVlan&, const OfStripVlan&) = default;
};
struct OfPushVlan {
  uint16_t ethertype = 0x8100;
  friend bool operator==(const OfPushVlan&, const OfPushVlan&) = default;
};
struct OfSetEth {  // mod_dl_src, mod_dl_dst
  bool source = false;
  MacAddress mac{};
  friend bool operator==(const OfSetEth&, const OfSetEth&) = default;
};
struct OfSetIpv4 {  // mod_nw_src, mod_nw_dst
  bool source = false;
  Be32 address;
  friend bool operator==(const OfSetIpv4&, const OfSetIpv4&) = default;
};
struct OfSetL4Port {  // mod_tp_src, mod_tp_dst: of TCP, UDP or SCTP
  bool source = false;
  uint16_t port = 0;
  friend bool operator==(const OfSetL4Port&, const OfSetL4Port&) = default;
};
struct OfSetIpDscp {  // mod_nw_tos
  uint8_t dscp = 0;   // the byte, lower two bits zero
  friend bool operator==(const OfSetIpDscp&, const OfSetIpDscp&) = default;
};
struct OfSetIpEcn {
  uint8_t ecn = 0;
  friend bool operator==(const OfSetIpEcn&, const OfSetIpEcn&) = default;
};
struct OfSetIpTtl {
  uint8_t ttl = 0;
  friend bool operator==(const OfSetIpTtl&, const OfSetIpTtl&) = default;
};
struct OfSetField {  // set_field, load: the text tells which form it came in
  const FieldInfo* field = nullptr;
  FieldValue value;
  FieldValue mask;       // exact: the whole field
  bool is_load = false;  // "load:0x1->NXM_NX_REG0[]" rather than "set_field:"
  friend bool operator==(const OfSetField&, const OfSetField&) = default;
};
struct OfMove {
  Subfield source;
  Subfield destination;
  friend bool operator==(const OfMove&, const OfMove&) = default;
};
struct OfStackPush {
  Subfield subfield;
  friend bool operator==(const OfStackPush&, const OfStackPush&) = default;
};
struct OfStackPop {
  Subfield subfield;
  friend bool operator==(const OfStackPop&, const OfStackPop&) = default;
};
struct OfDecTtl {
  std::vector<uint16_t> controllers;  // dec_ttl(1,2); {0} for plain dec_ttl
  bool has_ids = false;
  friend bool operator==(const OfDecTtl&, const OfDecTtl&) = default;
};
struct OfSetMplsLabel {
  uint32_t label = 0;
  friend bool operator==(const OfSetMplsLabel&, const OfSetMplsLabel&) = default;
};
struct OfSetMplsTc {
  uint8_t tc = 0;
  friend bool operator==(const OfSetMplsTc&, const OfSetMplsTc&) = default;
};
struct OfSetMplsTtl {
  uint8_t ttl = 0;
  friend bool operator==(const OfSetMplsTtl&, const OfSetMplsTtl&) = default;
};
struct OfDecMplsTtl {
  friend bool operator==(const OfDecMplsTtl&, const OfDecMplsTtl&) = default;
};
struct OfPushMpls {
  uint16_t ethertype = 0x8847;
  friend bool operator==(const OfPushMpls&, const OfPushMpls&) = default;
};
struct OfPopMpls {
  uint16_t ethertype = 0;
  friend bool operator==(const OfPopMpls&, const OfPopMpls&) = default;
};
struct OfDecNshTtl {
  friend bool operator==(const OfDecNshTtl&, const OfDecNshTtl&) = default;
};
struct OfSetQueue {
  uint32_t queue = 0;
  friend bool operator==(const OfSetQueue&, const OfSetQueue&) = default;
};
struct OfPopQueue {
  friend bool operator==(const OfPopQueue&, const OfPopQueue&) = default;
};
struct OfFinTimeout {
  uint16_t idle = 0;
  uint16_t hard = 0;
  friend bool operator==(const OfFinTimeout&, const OfFinTimeout&) = default;
};
struct OfResubmit {
  OfPort in_port = kOfpInPort;  // kOfpInPort: unchanged
  uint8_t table = 0xff;         // 0xff: the current one
  bool with_ct = false;
  friend bool operator==(const OfResubmit&, const OfResubmit&) = default;
};
struct OfLearn {
  struct Spec {
    enum class Source : uint8_t { kField, kImmediate };
    enum class Destination : uint8_t { kMatch, kLoad, kOutput };
    uint16_t n_bits = 0;
    Source source = Source::kField;
    Subfield from;         // kField
    SubValue immediate{};  // kImmediate, right-aligned
    Destination destination = Destination::kMatch;
    Subfield to;  // kMatch, kLoad
    friend bool operator==(const Spec&, const Spec&) = default;
  };
  uint16_t idle_timeout = 0;
  uint16_t hard_timeout = 0;
  uint16_t priority = 32768;
  uint64_t cookie = 0;
  uint16_t flags = 0;  // NX_LEARN_F_*: 1 send_flow_rem, 2 delete_learned, 4 write_result
  uint8_t table = 0;
  uint16_t fin_idle_timeout = 0;
  uint16_t fin_hard_timeout = 0;
  uint32_t limit = 0;  // 0: none
  Subfield result;     // write_result
  std::vector<Spec> specs;
  friend bool operator==(const OfLearn&, const OfLearn&) = default;
};
struct OfConjunction {
  uint32_t id = 0;
  uint8_t clause = 0;  // from 0
  uint8_t n_clauses = 0;
  friend bool operator==(const OfConjunction&, const OfConjunction&) = default;
};
struct OfNote {
  std::vector<uint8_t> data;
  friend bool operator==(const OfNote&, const OfNote&) = default;
};
struct OfSample {
  uint16_t probability = 0;
  uint32_t collector_set_id = 0;
  uint32_t obs_domain_id = 0;
  Subfield obs_domain_source;  // field set: instead of the number
  uint32_t obs_point_id = 0;
  Subfield obs_point_source;
  OfPort sampling_port = kOfpNone;
  enum class Direction : uint8_t { kDefault, kIngress, kEgress };
  Direction direction = Direction::kDefault;
  friend bool operator==(const OfSample&, const OfSample&) = default;
};
struct OfCheckPktLarger {
  uint16_t length = 0;
  Subfield destination;  // one bit
  friend bool operator==(const OfCheckPktLarger&, const OfCheckPktLarger&) = default;
};
struct OfDeleteField {
  const FieldInfo* field = nullptr;
  friend bool operator==(const OfDeleteField&, const OfDeleteField&) = default;
};
struct OfExit {
  friend bool operator==(const OfExit&, const OfExit&) = default;
};
// Lists inside actions are shared: they do not change once made.
struct OfClone {
  std::shared_ptr<const OfActions> actions;
  friend bool operator==(const OfClone& a, const OfClone& b);
};

// Instructions.
struct OfMeter {
  uint32_t meter = 0;
  friend bool operator==(const OfMeter&, const OfMeter&) = default;
};
struct OfClearActions {
  friend bool operator==(const OfClearActions&, const OfClearActions&) = default;
};
struct OfWriteActions {
  std::shared_ptr<const OfActions> actions;
  friend bool operator==(const OfWriteActions& a, const OfWriteActions& b);
};
struct OfWriteMetadata {
  uint64_t metadata = 0;
  uint64_t mask = UINT64_MAX;
  friend bool operator==(const OfWriteMetadata&, const OfWriteMetadata&) = default;
};
struct OfGotoTable {
  uint8_t table = 0;
  friend bool operator==(const OfGotoTable&, const OfGotoTable&) = default;
};

struct OfAction {
  std::variant<OfOutput, OfOutputReg, OfOutputTrunc, OfController, OfEnqueue, OfBundle, OfMultipath, OfGroup,
               OfSetVlanVid, OfSetVlanPcp, OfStripVlan, OfPushVlan, OfSetEth, OfSetIpv4, OfSetL4Port, OfSetIpDscp,
               OfSetIpEcn, OfSetIpTtl, OfSetField, OfMove, OfStackPush, OfStackPop, OfDecTtl, OfSetMplsLabel,
               OfSetMplsTc, OfSetMplsTtl, OfDecMplsTtl, OfPushMpls, OfPopMpls, OfDecNshTtl, OfSetQueue, OfPopQueue,
               OfFinTimeout, OfResubmit, OfLearn, OfConjunction, OfNote, OfSample, OfCheckPktLarger, OfDeleteField,
               OfExit, OfClone, OfMeter, OfClearActions, OfWriteActions, OfWriteMetadata, OfGotoTable>
      value;
  friend bool operator==(const OfAction& a, const OfAction& b) { return a.value == b.value; }
};

// Wire
// -----------------------------------------------------------------------------------------------------------------

// A list of actions alone (packet-out, buckets). Nesting (clone, write_actions, learn) is bounded at 8.
void EncodeActions(const OfActions& actions, OfVersion version, WireWriter& out);
OfResult<OfActions> DecodeActions(Bytes bytes, OfVersion version);
// What follows a flow's match: instructions, or for 1.0 actions. Duplicate instructions are kBicDupInst.
void EncodeInstructions(const OfActions& actions, OfVersion version, WireWriter& out);
OfResult<OfActions> DecodeInstructions(Bytes bytes, OfVersion version);

// Text
// -----------------------------------------------------------------------------------------------------------------

// "output:1,goto_table:2" as after "actions="; "drop" for an empty list.
std::string FormatActions(const OfActions& actions, const OfNames& names);
absl::StatusOr<OfActions> ParseActions(std::string_view text, const OfNames& names);

// Checks that need the match and the bridge: prerequisites of set fields, consistent VLAN and MPLS state (1.1+ 'strict'
// fails where 1.0 tolerates), table numbers forward only for goto_table, ports below max_ports, meters and groups.
struct ActionsContext {
  uint16_t max_ports = kOfpMax;
  uint8_t table = 0;
  uint8_t n_tables = 255;
  OfVersion version = OfVersion::k15;
};
OfStatus CheckActions(const OfActions& actions, const OfMatch& match, const ActionsContext& context);

// Whether any action, nested ones included, outputs to the port (not through fields) / the group: out_port, out_group.
bool OutputsToPort(const OfActions& actions, OfPort port);
bool OutputsToGroup(const OfActions& actions, uint32_t group);

}  // namespace sluice
