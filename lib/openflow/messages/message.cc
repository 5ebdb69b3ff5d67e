#include "lib/openflow/message.h"

#include "lib/openflow/messages/registry.h"

namespace sluice {

using messages::Form;
using messages::Found;
using messages::Row;

OfHeader ReadHeader(Bytes message) {
  WireReader in(message);
  OfHeader header;
  header.version = in.U8();
  header.type = in.U8();
  header.length = in.U16();
  header.xid = in.U32();
  return header;
}

std::string EncodeMessage(const OfMessage& message, const OfCodecState& state) {
  const Row* row = messages::ChooseRow(message, state);
  if (row == nullptr) return "";
  messages::PartWriter parts(*row, message.version, message.xid);
  Form form{message.version, row->experimenter != 0, state.nx_table_id};
  row->codec.encode(message.body, form, parts.out(), parts);
  return parts.Finish(row->codec.more(message.body));
}

OfResult<OfMessage> DecodeMessage(Bytes bytes, const OfCodecState& state) {
  OfResult<Found> found = messages::FindRow(bytes);
  if (!found.ok()) return found.failure();
  OfHeader header = ReadHeader(bytes);
  OfMessage message;
  message.version = static_cast<OfVersion>(header.version);
  message.xid = header.xid;
  message.nxm = found->row->experimenter == messages::kNiciraVendor;
  Form form{message.version, found->row->experimenter != 0, state.nx_table_id};
  WireReader in(found->body);
  OfResult<OfBody> body = found->row->codec.decode(in, form, found->more);
  if (!body.ok()) return body.failure();
  if (!in.ok() || !in.AtEnd()) {
    return OfFailure{OfError::kBrcBadLen,
                     fmt::format("{} of {} bytes does not end where its contents do", found->row->name, bytes.size())};
  }
  message.body = *std::move(body);
  if (const auto* add = std::get_if<OfBundleAdd>(&message.body);
      add != nullptr && ReadHeader(AsBytes(add->message)).xid != header.xid) {
    return OfFailure{OfError::kBfcMsgBadXid, "message in a bundle has another transaction id"};
  }
  return message;
}

}  // namespace sluice
