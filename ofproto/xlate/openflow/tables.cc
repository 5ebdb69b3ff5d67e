// The way through the flow tables.
#include "ofproto/xlate/translator.h"

namespace sluice {
namespace {

constexpr uint16_t kIpv4 = 0x0800, kIpv6 = 0x86dd;
// OFPC_FRAG_*: how fragments are looked up.
constexpr uint16_t kFragModes = 3, kFragDrop = 1, kFragNxMatch = 3;

// What FlowTables::miss_handling() says.
constexpr int kMissToController = 0, kMissToNextTable = 1, kMissDrop = 2;

bool LooksAtTransport(const FlowMask& mask) {
  return mask.tp_src != Be16() || mask.tp_dst != Be16() || mask.tcp_flags != Be16();
}

void Merge(OfMask& into, const OfMask& from) {
  for (size_t i = 0; i < OfFlow::kWords; ++i) into.SetWord(i, into.Word(i) | from.Word(i));
}

std::string RuleText(uint8_t table, const Rule& rule) {
  std::string match = FormatMatch(rule.match, 32768, {});
  std::string text = fmt::format("{:2}. {}{}priority {}", table, match, match.empty() ? "" : ", ", rule.priority);
  if (rule.cookie != 0) text += fmt::format(", cookie {:#x}", rule.cookie);
  return text;
}

}  // namespace

// The version is read before the tables are: what changes meanwhile brings another translation.
void Translator::UsePipeline(Pass& pass) {
  const std::shared_ptr<OfPipeline>& pipeline = pass.bridge.pipeline;
  bool known = false;
  for (const XlateTables& tables : out_.tables) known |= tables.pipeline == pipeline;
  if (!known) out_.tables.push_back({pipeline, pipeline->version()});
  pass.version = pipeline->tables.version();
}

void Translator::RunTables(Pass& pass) {
  bool drops_fragment = false;
  RulePtr rule = LookUp(pass, pass.flow.in_port, 0, drops_fragment);
  RunRule(pass, std::move(rule), drops_fragment, /*may_packet_in=*/true, /*is_last=*/true);
}

RulePtr Translator::LookUp(Pass& pass, uint32_t in_port, uint8_t table, bool& drops_fragment) {
  OfPipeline& pipeline = *pass.bridge.pipeline;
  FlowKey& packet = pass.flow.packet;
  const uint16_t mode = pipeline.fragments.load(std::memory_order_relaxed) & kFragModes;
  const bool is_ip = packet.eth_type == Be16(kIpv4) || packet.eth_type == Be16(kIpv6);
  const bool is_fragment = is_ip && (packet.ip_frag & kFragAny) != 0;
  if (is_ip && mode == kFragDrop) {
    looked_at_.eth_type = Be16(0xffff);
    looked_at_.ip_frag = 0xff;
    drops_fragment = is_fragment;
    if (is_fragment) return nullptr;
  }

  // Unless asked otherwise, no fragment has ports, not even the first one, which carries them.
  const Be16 source = packet.tp_src, destination = packet.tp_dst;
  const bool hides_ports = is_fragment && mode != kFragNxMatch;
  if (hides_ports) packet.tp_src = packet.tp_dst = Be16();
  const uint32_t own_port = std::exchange(pass.flow.in_port, in_port);
  OfMask seen;
  RulePtr rule = pipeline.tables.Lookup(pass.version, table, pass.flow, &seen);
  pass.flow.in_port = own_port;
  packet.tp_src = source;
  packet.tp_dst = destination;

  if (is_ip && mode != kFragNxMatch && LooksAtTransport(seen.packet)) seen.packet.ip_frag = 0xff;
  Merge(wildcards_, seen);
  out_.effects.push_back(
      {.kind = XlateEffect::Kind::kRule, .table = table, .rule = rule, .pipeline = pass.bridge.pipeline});
  return rule;
}

bool Translator::CheckLimits(Pass& pass) {
  if (failed_) return false;
  if (pass.resubmit_depth >= kMaxResubmitDepth) {
    Fail(pass, fmt::format("over max translation depth {}", kMaxResubmitDepth));
  } else if (resubmits_ >= kMaxResubmits) {
    Fail(pass, fmt::format("over {} resubmit actions", kMaxResubmits));
  } else if (composer_.size() > kMaxActions) {
    Fail(pass, fmt::format("over {} datapath actions", kMaxActions));
  } else if (pass.stack.size() * sizeof(SubValue) >= kMaxStackBytes) {
    Fail(pass, "over 64 KiB of stack");
  }
  return !failed_;
}

// `in_port` is for the lookup only: NORMAL and outputs go by the packet's own.
void Translator::Table(Pass& pass, uint32_t in_port, uint8_t table, bool may_packet_in, bool is_last) {
  if (!CheckLimits(pass)) return;
  if (pass.bridge.pipeline == nullptr) return Drop("bridge {} has no flow tables", pass.bridge.name);
  ++resubmits_;
  bool drops_fragment = false;
  RulePtr rule = LookUp(pass, in_port, table, drops_fragment);
  const int deeper = table <= pass.table ? 1 : 0;

  const uint8_t old_table = std::exchange(pass.table, table);
  const bool was_miss = pass.is_miss;
  RulePtr old_rule = pass.rule;
  pass.resubmit_depth += deeper;
  RunRule(pass, std::move(rule), drops_fragment, may_packet_in, is_last);
  pass.resubmit_depth -= deeper;
  pass.rule = std::move(old_rule);
  pass.is_miss = was_miss;
  pass.table = old_table;
}

bool Translator::WantsMiss(const Pass& pass) const {
  const int handling = pass.bridge.pipeline->tables.miss_handling(pass.table);
  const bool wanted = handling == kMissToController || (handling != kMissDrop && pass.bridge.pipeline->misses_wanted());
  return wanted && in_.ids != nullptr && (pass.in_port == nullptr || (pass.in_port->config & kPortNoPacketIn) == 0);
}

void Translator::RunRule(Pass& pass, RulePtr rule, bool drops_fragment, bool may_packet_in, bool is_last) {
  if (rule != nullptr) {
    TraceScope scope(*this, TraceNode::Type::kTable, trace_ == nullptr ? std::string() : RuleText(pass.table, *rule));
    pass.is_miss = rule->priority == 0 && rule->match.mask().words == 0;
    // Holds the actions while they run: the rule may go meanwhile.
    std::shared_ptr<const OfActions> actions = rule->actions;
    pass.rule = std::move(rule);
    return RunList(pass, *actions, is_last);
  }
  pass.rule = nullptr;
  pass.is_miss = false;
  if (drops_fragment) {
    TraceScope scope(*this, TraceNode::Type::kTable,
                     fmt::format("{:2}. Packets are IP fragments and the fragment handling mode is \"drop\".", pass.table));
    if (trace_ != nullptr) AddNode(TraceNode::Type::kAction, "drop");
    reason_ = "fragments are dropped";
    return;
  }
  reason_ = fmt::format("table {} of bridge {} has no flow for this packet", pass.table, pass.bridge.name);
  if (may_packet_in && pass.table < kMaxTable &&
      pass.bridge.pipeline->tables.miss_handling(pass.table) == kMissToNextTable) {
    TraceScope scope(*this, TraceNode::Type::kTable, fmt::format("{:2}. No match.", pass.table));
    return Table(pass, pass.flow.in_port, static_cast<uint8_t>(pass.table + 1), may_packet_in, is_last);
  }
  if (may_packet_in && WantsMiss(pass)) {
    TraceScope scope(*this, TraceNode::Type::kTable,
                     fmt::format("{:2}. No match, and a \"packet-in\" is called for.", pass.table));
    if (trace_ != nullptr) AddNode(TraceNode::Type::kAction, "controller(reason=no_match)");
    SendToController(pass, kNoMaxLen, 0, OfPacketIn::Reason::kNoMatch, {}, 0);
    return;
  }
  TraceScope scope(*this, TraceNode::Type::kTable, fmt::format("{:2}. No match.", pass.table));
  if (trace_ != nullptr) AddNode(TraceNode::Type::kAction, "drop");
}

// Resubmit, goto_table
// ------------------------------------------------------------------------------------------------------------------

Translator::Step Translator::Do(Pass& pass, const OfResubmit& action, const List& list) {
  if (action.with_ct) {
    Drop("resubmit with ct: connection tracking is not there, ignored");
    return Step::kNext;
  }
  const uint32_t in_port = action.in_port == kOfpInPort ? pass.flow.in_port : action.in_port;
  // In a packet-out or an action set there is no table that it could be in.
  const uint8_t here = pass.table == 0xff ? 0 : pass.table;
  Table(pass, in_port, action.table == 0xff ? here : action.table, /*may_packet_in=*/false, list.is_last);
  return Step::kNext;
}

Translator::Step Translator::Do(Pass& pass, const OfGotoTable& action, const List& list) {
  Table(pass, pass.flow.in_port, action.table, /*may_packet_in=*/true, list.is_last);
  return Step::kNext;
}

}  // namespace sluice
