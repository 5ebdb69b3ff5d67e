#include "ofproto/xlate/openflow/continuation.h"

#include <fmt/format.h>

#include "lib/openflow/wire.h"

namespace sluice {
namespace {

constexpr uint32_t kMagic = 0x536c6331;
constexpr OfVersion kVersion = OfVersion::k15;
constexpr size_t kMaxFrames = 4096;

void PutActions(const OfActions& actions, WireWriter& out) {
  WireWriter bytes;
  EncodeInstructions(actions, kVersion, bytes);
  out.U32(static_cast<uint32_t>(bytes.size()));
  out.Raw(AsBytes(bytes.bytes()));
}

OfFailure Invalid(const char* what) {
  return {OfError::kNxBrcNxmInvalid, fmt::format("continuation: {} is not what a paused packet carried", what)};
}

}  // namespace

std::string EncodeContinuation(const FrozenState& state) {
  WireWriter out;
  out.U32(kMagic);
  out.U16(static_cast<uint16_t>(state.bridge.size()));
  out.Raw(AsBytes(state.bridge));
  out.Copy(state.pipeline);
  out.U32(state.mirrored);
  out.U32(static_cast<uint32_t>(state.stack.size()));
  for (const SubValue& value : state.stack) out.Copy(value);
  WireWriter set;
  EncodeActions(state.action_set, kVersion, set);
  out.U32(static_cast<uint32_t>(set.size()));
  out.Raw(AsBytes(set.bytes()));
  out.U32(static_cast<uint32_t>(state.frames.size()));
  for (const FrozenFrame& frame : state.frames) {
    out.U8(frame.table);
    out.U8(frame.is_miss ? 1 : 0);
    out.U64(frame.cookie);
    PutActions(frame.actions, out);
  }
  return out.Release();
}

OfResult<FrozenState> DecodeContinuation(std::string_view continuation) {
  WireReader in(AsBytes(continuation));
  FrozenState state;
  if (in.U32() != kMagic) return Invalid("the beginning");
  const Bytes bridge = in.Take(in.U16());
  state.bridge.assign(bridge.begin(), bridge.end());
  in.Copy(state.pipeline);
  state.pipeline.packet.recirc_id = 0;
  state.mirrored = in.U32();
  const uint32_t values = in.U32();
  if (values > in.left() / sizeof(SubValue)) return Invalid("the stack");
  state.stack.resize(values);
  for (SubValue& value : state.stack) in.Copy(value);
  OfResult<OfActions> set = DecodeActions(in.Take(in.U32()), kVersion);
  if (!set.ok()) return set.failure();
  state.action_set = *std::move(set);
  const uint32_t frames = in.U32();
  if (frames > kMaxFrames || !in.ok()) return Invalid("the list of frames");
  for (uint32_t i = 0; i < frames; ++i) {
    FrozenFrame frame;
    frame.table = in.U8();
    frame.is_miss = in.U8() != 0;
    frame.cookie = in.U64();
    OfResult<OfActions> actions = DecodeInstructions(in.Take(in.U32()), kVersion);
    if (!actions.ok()) return actions.failure();
    frame.actions = *std::move(actions);
    state.frames.push_back(std::move(frame));
  }
  if (!in.ok() || !in.AtEnd()) return Invalid("the end");
  return state;
}

}  // namespace sluice
