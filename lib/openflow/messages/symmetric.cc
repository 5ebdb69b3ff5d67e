// Hello, error, echo and barriers: OpenFlow 1.3.5, 7.3.8, 7.4.4 and 7.5; 1.5.1, 7.5.
#include "lib/openflow/messages/registry.h"
#include "lib/openflow/messages/text/text.h"

namespace sluice::messages {
namespace {

// -- Hello
// -------------------------------------------------------------------------------------------------------------

constexpr uint16_t kVersionBitmap = 1;

// Elements that are not understood, or cut, are passed over: a hello must get through whatever its version.
OfResult<OfHello> ReadHello(WireReader& in, const Form&) {
  OfHello hello;
  while (in.left() >= 4) {
    WireReader peek = in;
    uint16_t type = peek.U16();
    size_t length = peek.U16();
    if (length < 4 || length > in.left()) break;
    WireReader element(in.Take(length));
    in.Take(std::min((8 - length % 8) % 8, in.left()));
    element.Skip(4);
    if (type == kVersionBitmap && element.left() >= 4) hello.versions = element.U32();
  }
  in.Rest();
  return hello;
}

void WriteHello(const OfHello& hello, const Form&, WireWriter& out) {
  if (hello.versions == 0) return;
  size_t start = BeginProperty(kVersionBitmap, out);
  out.U32(hello.versions);
  EndProperty(start, out);
}

// -- Error
// -------------------------------------------------------------------------------------------------------------

constexpr uint16_t kExperimenterError = 0xffff;  // OpenFlow 1.2+
constexpr uint16_t kNiciraError = 0xb0c2;        // Nicira's vendor error: experimenter, type, code in the data
constexpr size_t kMaxErrorData = 60000;

OfResult<OfErrorMessage> ReadError(WireReader& in, const Form& form) {
  OfErrorMessage error;
  error.code.type = in.U16();
  error.code.code = in.U16();
  if (error.code.type == kNiciraError && error.code.code == 0) {
    error.code.experimenter = in.U32();
    error.code.type = in.U16();
    error.code.code = in.U16();
  } else if (error.code.type == kExperimenterError && form.version >= OfVersion::k12) {
    error.code.experimenter = in.U32();
  }
  Bytes data = in.Rest();
  error.data.assign(data.begin(), data.end());
  return error;
}

void WriteError(const OfErrorMessage& error, const Form& form, WireWriter& out) {
  const OfErrorCode& code = error.code;
  if (code.experimenter == 0) {
    out.U16(code.type);
    out.U16(code.code);
  } else if (code.type == kExperimenterError && form.version >= OfVersion::k12) {
    out.U16(kExperimenterError);
    out.U16(code.code);
    out.U32(code.experimenter);
  } else {
    out.U16(kNiciraError);
    out.U16(0);
    out.U32(code.experimenter);
    out.U16(code.type);
    out.U16(code.code);
  }
  out.Raw(AsBytes(std::string_view(error.data).substr(0, kMaxErrorData)));
}

// -- Echo
// --------------------------------------------------------------------------------------------------------------

template <typename Echo>
OfResult<Echo> ReadEcho(WireReader& in, const Form&) {
  Bytes data = in.Rest();
  return Echo{std::string(data.begin(), data.end())};
}
template <typename Echo>
void WriteEcho(const Echo& echo, const Form&, WireWriter& out) {
  out.Raw(AsBytes(echo.data));
}

constexpr Codec kHello = Single<ReadHello, WriteHello, FormatHello>();
constexpr Codec kError = Single<ReadError, WriteError, FormatError>();
constexpr Codec kEchoRequest = Single<ReadEcho<OfEchoRequest>, WriteEcho<OfEchoRequest>, FormatEchoRequest>();
constexpr Codec kEchoReply = Single<ReadEcho<OfEchoReply>, WriteEcho<OfEchoReply>, FormatEchoReply>();
constexpr Length kAny = {0, 1};

constexpr Row kRows[] = {
    {"OFPT_HELLO", Space::kPlain, 0, 1, 6, kAny, kHello},
    {"OFPT_ERROR", Space::kPlain, 1, 1, 6, {4, 1}, kError},
    {"OFPT_ECHO_REQUEST", Space::kPlain, 2, 1, 6, kAny, kEchoRequest},
    {"OFPT_ECHO_REPLY", Space::kPlain, 3, 1, 6, kAny, kEchoReply},
    {"OFPT_BARRIER_REQUEST", Space::kPlain, 18, 1, 1, {}, Empty<OfBarrierRequest>()},
    {"OFPT_BARRIER_REQUEST", Space::kPlain, 20, 2, 6, {}, Empty<OfBarrierRequest>()},
    {"OFPT_BARRIER_REPLY", Space::kPlain, 19, 1, 1, {}, Empty<OfBarrierReply>()},
    {"OFPT_BARRIER_REPLY", Space::kPlain, 21, 2, 6, {}, Empty<OfBarrierReply>()},
};

}  // namespace

absl::Span<const Row> SymmetricRows() { return kRows; }

}  // namespace sluice::messages
