// Any bytes as an OpenFlow message: decoding, printing and encoding again neither fail nor lose anything that a second
// round would bring back.
#include <cstdlib>
#include <string>

#include "lib/openflow/message.h"

namespace sluice {
namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

OfCodecState StateOf(Bytes bytes) {
  OfCodecState state;
  std::string name = MessageName(bytes);
  if (name == "NXT_PACKET_IN") state.packet_in = PacketInFormat::kNxt;
  if (name == "NXT_PACKET_IN2") state.packet_in = PacketInFormat::kNxt2;
  return state;
}

void Check(std::string bytes) {
  // Most inputs would have a wrong length.
  if (bytes.size() < kOfHeaderSize || bytes.size() > 65535) return;
  bytes[2] = static_cast<char>(bytes.size() >> 8);
  bytes[3] = static_cast<char>(bytes.size());
  FormatMessage(AsBytes(bytes), {}, 2);
  OfCodecState state = StateOf(AsBytes(bytes));
  OfResult<OfMessage> message = DecodeMessage(AsBytes(bytes), state);
  if (!message.ok() || bytes[0] < 1 || bytes[0] > 6) return;
  std::string encoded = EncodeMessage(*message, state);
  if (encoded.size() > 65535) return;
  OfResult<OfMessage> again = DecodeMessage(AsBytes(encoded), state);
  if (!again.ok()) return;
  Require(EncodeMessage(*again, state) == encoded);
}

}  // namespace
}  // namespace sluice

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sluice::Check({reinterpret_cast<const char*>(data), size});
  return 0;
}
