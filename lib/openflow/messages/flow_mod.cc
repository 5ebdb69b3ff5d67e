// Flow mods in their three layouts: OpenFlow 1.0 (1.0.1, 5.3.3), 1.1+ (1.3.5, 7.3.4.1), and NXT_FLOW_MOD.
#include "lib/openflow/flow_mod.h"

#include "lib/openflow/messages/flows.h"
#include "lib/openflow/messages/match_bytes.h"

namespace sluice {
namespace messages {
namespace {

constexpr uint16_t kEmergencyOnWire = 4;  // OpenFlow 1.0; later it is kResetCounts

uint16_t KnownFlags(OfVersion version) {
  uint16_t flags = kSendFlowRem | kCheckOverlap;
  if (version >= OfVersion::k12) flags |= kResetCounts;
  if (version >= OfVersion::k13) flags |= kNoPacketCounts | kNoByteCounts;
  return flags;
}

OfStatus CheckFlags(uint16_t flags, OfVersion version) {
  if (version == OfVersion::k10 && (flags & kEmergencyOnWire) != 0) {
    return Fail(OfError::kFmfcTableFull, "flow mod for the emergency table, which has no room");
  }
  if ((flags & ~KnownFlags(version)) != 0) {
    return Fail(OfError::kFmfcBadFlags, "flow mod with flags {:#x}", flags);
  }
  return std::nullopt;
}

bool IsDeletion(FlowCommand command) {
  return command == FlowCommand::kDelete || command == FlowCommand::kDeleteStrict;
}

OfStatus SetCommand(uint32_t command, FlowMod& mod) {
  if (command > static_cast<uint32_t>(FlowCommand::kDeleteStrict)) {
    return Fail(OfError::kFmfcBadCommand, "flow mod with command {}", command);
  }
  mod.command = static_cast<FlowCommand>(command);
  return std::nullopt;
}

OfStatus ReadActions(WireReader& in, OfVersion version, FlowMod& mod) {
  OfResult<OfActions> actions = DecodeInstructions(in.Rest(), version);
  if (!actions.ok()) return actions.failure();
  mod.actions = *std::move(actions);
  return std::nullopt;
}

// What an OpenFlow 1.1 modification without a cookie mask has in its cookie is not something to match.
bool CookieIsNew(FlowCommand command, uint64_t cookie_mask, OfVersion version) {
  if (command == FlowCommand::kAdd) return true;
  return version == OfVersion::k11 && !IsDeletion(command) && cookie_mask == 0;
}

// -- 1.1+ ----------------------------------------------------------------------------------------------------------

void Encode11(const FlowMod& mod, OfVersion version, WireWriter& out) {
  out.U64(CookieIsNew(mod.command, mod.cookie_mask, version) ? mod.new_cookie : mod.cookie & mod.cookie_mask);
  out.U64(mod.cookie_mask);
  bool all_tables = version != OfVersion::k11 && IsDeletion(mod.command);
  out.U8(mod.table == kTableAll && !all_tables ? 0 : mod.table);
  out.U8(static_cast<uint8_t>(mod.command));
  out.U16(mod.idle_timeout);
  out.U16(mod.hard_timeout);
  out.U16(mod.priority);
  out.U32(mod.buffer_id);
  out.U32(PortToWire(mod.out_port));
  out.U32(mod.out_group);
  out.U16(mod.flags & KnownFlags(version));
  out.U16(version >= OfVersion::k14 ? mod.importance : 0);
  EncodeMatch(mod.match, version, out);
  EncodeInstructions(mod.actions, version, out);
}

OfStatus Read11Fields(WireReader& in, OfVersion version, FlowMod& mod) {
  uint64_t cookie = in.U64();
  uint64_t cookie_mask = in.U64();
  mod.table = in.U8();
  uint8_t command = in.U8();
  mod.idle_timeout = in.U16();
  mod.hard_timeout = in.U16();
  mod.priority = in.U16();
  mod.buffer_id = in.U32();
  OfResult<OfPort> out_port = ReadPort(in, version, OfError::kBacBadOutPort);
  uint32_t out_group = in.U32();
  mod.flags = in.U16();
  uint16_t importance = in.U16();
  if (OfStatus status = SetCommand(command, mod)) return status;
  if (CookieIsNew(mod.command, cookie_mask, version)) {
    mod.new_cookie = cookie;
  } else {
    mod.cookie = cookie;
    mod.cookie_mask = cookie_mask;
    mod.new_cookie = UINT64_MAX;
  }
  if (!out_port.ok()) return out_port.failure();
  mod.out_port = *out_port;
  if (IsDeletion(mod.command)) mod.out_group = out_group;
  if (version >= OfVersion::k14 && mod.command == FlowCommand::kAdd) mod.importance = importance;
  if (mod.table == kTableAll && (version == OfVersion::k11 || !IsDeletion(mod.command))) {
    return Fail(OfError::kFmfcBadTableId, "flow mod with table 255, which only deletions may have");
  }
  return CheckFlags(mod.flags, version);
}

OfResult<FlowMod> Decode11(WireReader& in, OfVersion version) {
  FlowMod mod;
  if (OfStatus status = Read11Fields(in, version, mod)) return *status;
  OfResult<OfMatch> match = DecodeMatch(in, version);
  if (!match.ok()) return match.failure();
  mod.match = *match;
  if (OfStatus status = ReadActions(in, version, mod)) return *status;
  return mod;
}

// -- 1.0 and Nicira ------------------------------------------------------------------------------------------------

void WriteCommand(const FlowMod& mod, bool nx_table_id, WireWriter& out) {
  auto command = static_cast<uint16_t>(mod.command);
  out.U16(nx_table_id ? static_cast<uint16_t>(mod.table << 8 | command) : command);
}

OfStatus ReadCommand(uint16_t command, bool nx_table_id, FlowMod& mod) {
  if (!nx_table_id) return SetCommand(command, mod);
  mod.table = static_cast<uint8_t>(command >> 8);
  return SetCommand(command & 0xff, mod);
}

void WriteCommon(const FlowMod& mod, bool nx_table_id, WireWriter& out) {
  out.U64(mod.new_cookie);
  WriteCommand(mod, nx_table_id, out);
  out.U16(mod.idle_timeout);
  out.U16(mod.hard_timeout);
  out.U16(mod.priority);
  out.U32(mod.buffer_id);
  out.U16(mod.out_port);
  out.U16(mod.flags & KnownFlags(OfVersion::k10));
}

OfStatus ReadCommon(WireReader& in, const FlowModForm& form, FlowMod& mod) {
  mod.new_cookie = in.U64();
  mod.modify_cookie = mod.new_cookie != UINT64_MAX;
  uint16_t command = in.U16();
  mod.idle_timeout = in.U16();
  mod.hard_timeout = in.U16();
  mod.priority = in.U16();
  mod.buffer_id = in.U32();
  mod.out_port = in.U16();
  mod.flags = in.U16();
  if (OfStatus status = ReadCommand(command, form.nx_table_id, mod)) return status;
  return CheckFlags(mod.flags, form.version);
}

OfResult<FlowMod> Decode10(WireReader& in, const FlowModForm& form) {
  FlowMod mod;
  OfResult<OfMatch> match = DecodeMatch10(in);
  if (!match.ok()) return match.failure();
  mod.match = *match;
  if (OfStatus status = ReadCommon(in, form, mod)) return *status;
  if (OfStatus status = ReadActions(in, form.version, mod)) return *status;
  return mod;
}

void EncodeNxm(const FlowMod& mod, const FlowModForm& form, WireWriter& out) {
  WriteCommon(mod, form.nx_table_id, out);
  size_t length_at = out.size();
  out.Zeros(8);
  CookieMatch cookie{mod.cookie, mod.cookie_mask};
  out.SetU16(length_at, WriteNxmMatch(mod.match, &cookie, form.version, out));
  EncodeInstructions(mod.actions, form.version, out);
}

OfResult<FlowMod> DecodeNxm(WireReader& in, const FlowModForm& form) {
  FlowMod mod;
  if (OfStatus status = ReadCommon(in, form, mod)) return *status;
  size_t match_length = in.U16();
  in.Skip(6);
  CookieMatch cookie;
  OfResult<OfMatch> match = ReadNxmMatch(in, match_length, false, &cookie);
  if (!match.ok()) return match.failure();
  mod.match = *match;
  mod.cookie = cookie.cookie;
  mod.cookie_mask = cookie.mask;
  if (mod.command == FlowCommand::kAdd && mod.cookie_mask != 0) {
    return Fail(OfError::kNxBrcNxmInvalid, "addition of a flow that matches on a cookie");
  }
  if (OfStatus status = ReadActions(in, form.version, mod)) return *status;
  return mod;
}

}  // namespace

OfResult<FlowMod> ReadFlowMod(WireReader& in, const Form& form) {
  return DecodeFlowMod(in.Rest(), {form.version, form.extension, form.nx_table_id});
}
void WriteFlowMod(const FlowMod& mod, const Form& form, WireWriter& out) {
  EncodeFlowMod(mod, {form.version, form.extension, form.nx_table_id}, out);
}

}  // namespace messages

void EncodeFlowMod(const FlowMod& mod, const FlowModForm& form, WireWriter& out) {
  if (form.nxm) {
    messages::EncodeNxm(mod, form, out);
  } else if (form.version >= OfVersion::k11) {
    messages::Encode11(mod, form.version, out);
  } else {
    EncodeMatch10(mod.match, out);
    messages::WriteCommon(mod, form.nx_table_id, out);
    EncodeInstructions(mod.actions, form.version, out);
  }
}

OfResult<FlowMod> DecodeFlowMod(Bytes body, const FlowModForm& form) {
  WireReader in(body);
  OfResult<FlowMod> mod = form.nxm                         ? messages::DecodeNxm(in, form)
                          : form.version >= OfVersion::k11 ? messages::Decode11(in, form.version)
                                                           : messages::Decode10(in, form);
  if (mod.ok() && !in.ok()) return messages::Fail(OfError::kBrcBadLen, "flow mod of {} bytes", body.size());
  return mod;
}

}  // namespace sluice
