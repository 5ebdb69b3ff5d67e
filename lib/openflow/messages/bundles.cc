// Bundles and forwarded requests: OpenFlow 1.4.1, 7.3.9 and 7.4.6; ONF extensions 230 and 235 for 1.3.
#include "lib/openflow/messages/registry.h"
#include "lib/openflow/messages/text/text.h"

namespace sluice::messages {
namespace {

constexpr uint16_t kKnownFlags = 3;

OfStatus SkipProperties(WireReader& in) {
  while (!in.AtEnd()) {
    OfResult<Property> property = TakeProperty(in);
    if (!property.ok()) return property.failure();
  }
  return std::nullopt;
}

OfStatus CheckFlags(uint16_t flags) {
  if ((flags & ~kKnownFlags) == 0) return std::nullopt;
  return Fail(OfError::kBfcBadFlags, "bundle message with flags {:#x}", flags);
}

OfResult<OfBundleControl> ReadControl(WireReader& in, const Form&) {
  OfBundleControl control;
  control.bundle = in.U32();
  control.type = in.U16();
  control.flags = in.U16();
  if (OfStatus status = CheckFlags(control.flags)) return *status;
  if (OfStatus status = SkipProperties(in)) return *status;
  return control;
}
void WriteControl(const OfBundleControl& control, const Form&, WireWriter& out) {
  out.U32(control.bundle);
  out.U16(control.type);
  out.U16(control.flags);
}

bool MayBeBundled(Bytes message) {
  OfResult<Found> found = FindRow(message);
  if (!found.ok()) return false;
  size_t index = found->row->codec.index;
  return index == internal::IndexOf<FlowMod, OfBody>::value || index == internal::IndexOf<GroupMod, OfBody>::value ||
         index == internal::IndexOf<OfPortMod, OfBody>::value || index == internal::IndexOf<OfPacketOut, OfBody>::value;
}

// The message inside must be whole and have the version and transaction id (see DecodeMessage) of the one around it;
// its body is looked at when the bundle is carried out.
OfResult<OfBundleAdd> ReadAdd(WireReader& in, const Form& form) {
  OfBundleAdd add;
  add.bundle = in.U32();
  in.Skip(2);
  add.flags = in.U16();
  if (OfStatus status = CheckFlags(add.flags)) return *status;
  if (in.left() < kOfHeaderSize) {
    return Fail(OfError::kBfcMsgBadLen, "message of {} bytes in a bundle", in.left());
  }
  WireReader peek = in;
  uint8_t version = peek.U8();
  peek.Skip(1);
  size_t length = peek.U16();
  if (length < kOfHeaderSize || length > in.left()) {
    return Fail(OfError::kBfcMsgBadLen, "message of {} bytes in a bundle says that it has {}", in.left(), length);
  }
  if (version != static_cast<uint8_t>(form.version)) {
    return Fail(OfError::kBfcMsgBadXid, "message of version {} in a bundle of version {}", version,
                static_cast<int>(form.version));
  }
  Bytes message = in.Take(length);
  if (!MayBeBundled(message)) return Fail(OfError::kBfcMsgUnsup, "message of type {} in a bundle", message[1]);
  add.message.assign(message.begin(), message.end());
  in.Rest();  // properties
  return add;
}
void WriteAdd(const OfBundleAdd& add, const Form&, WireWriter& out) {
  out.U32(add.bundle);
  out.U16(0);
  out.U16(add.flags);
  out.Raw(AsBytes(add.message));
}

OfResult<OfRequestForward> ReadForward(WireReader& in, const Form&) {
  WireReader peek = in;
  peek.Skip(2);
  size_t length = peek.U16();
  if (length < kOfHeaderSize || length > in.left()) {
    return Fail(OfError::kBfcMsgBadLen, "forwarded request of {} bytes says that it has {}", in.left(), length);
  }
  // Only these two are decoded, so that forwarded requests do not nest.
  OfResult<Found> found = FindRow(WireReader(in).Take(length));
  bool known = found.ok() && (found->row->codec.index == internal::IndexOf<GroupMod, OfBody>::value ||
                              found->row->codec.index == internal::IndexOf<MeterMod, OfBody>::value);
  if (!known) return Fail(OfError::kBfcMsgUnsup, "forwarded request that changes neither a group nor a meter");
  OfResult<OfMessage> inner = DecodeMessage(WireReader(in).Take(length));
  if (!inner.ok()) return inner.failure();
  Bytes message = in.Take(length);
  in.Rest();
  return OfRequestForward{std::string(message.begin(), message.end())};
}
void WriteForward(const OfRequestForward& forward, const Form&, WireWriter& out) { out.Raw(AsBytes(forward.message)); }

constexpr Codec kControl = Single<ReadControl, WriteControl, FormatBundleControl>();
constexpr Codec kAdd = Single<ReadAdd, WriteAdd, FormatBundleAdd>();
constexpr Codec kForward = Single<ReadForward, WriteForward, FormatRequestForward>();

constexpr Row kRows[] = {
    {"OFPT_BUNDLE_CONTROL", Space::kPlain, 33, 5, 6, {8, 8}, kControl},
    {"ONFT_BUNDLE_CONTROL", Space::kExperimenter, 2300, 4, 4, {8, 8}, kControl, kOnfVendor},
    {"OFPT_BUNDLE_ADD_MESSAGE", Space::kPlain, 34, 5, 6, {8, 1}, kAdd},
    {"ONFT_BUNDLE_ADD_MESSAGE", Space::kExperimenter, 2301, 4, 4, {8, 1}, kAdd, kOnfVendor},
    {"OFPT_REQUESTFORWARD", Space::kPlain, 32, 5, 6, {8, 8}, kForward},
    {"ONFT_REQUESTFORWARD", Space::kExperimenter, 2350, 4, 4, {8, 8}, kForward, kOnfVendor},
};

}  // namespace

absl::Span<const Row> BundleRows() { return kRows; }

}  // namespace sluice::messages
