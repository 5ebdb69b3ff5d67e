#include "ofproto/connections/requests/request_forward.h"

namespace sluice {
namespace {

constexpr uint8_t kTypeRequestForward = 34;

}  // namespace

void ForwardRequest(const OfRequest& request, ForwardReason reason) {
  for (const auto& other : request.core.connections) {
    if (other.get() == &request.from || other->version() < OfVersion::k14) continue;
    if (!other->Wants(OfAsyncConfig::kRequestForward, static_cast<unsigned>(reason))) continue;
    const std::string inner = other->Encode(request.message.body, request.message.xid, false);
    if (inner.size() + kOfHeaderSize > UINT16_MAX) continue;
    WireWriter out;
    out.U8(static_cast<uint8_t>(other->version()));
    out.U8(kTypeRequestForward);
    out.U16(static_cast<uint16_t>(inner.size() + kOfHeaderSize));
    out.U32(0);
    out.Raw(AsBytes(inner));
    other->channel().Send(out.Release());
  }
}

}  // namespace sluice
