// OfRequest: a message that a peer sent, on its way through its handler.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ofproto/connections/core.h"

namespace sluice {

struct OfRequest {
  ConnectionCore& core;
  OfConnection& from;
  OfMessage message;
  std::string_view bytes;  // as it came

  OfVersion version() const { return message.version; }
  OfSwitch& of_switch() const { return core.of_switch; }
  OfPipeline& pipeline() const { return core.of_switch.pipeline(); }
  FlowRequester requester() const { return {from.id(), message.xid}; }

  void Reply(OfBody body) const { from.channel().Send(from.Encode(std::move(body), message.xid, message.nxm)); }
  // A reply of many entries, in pieces of `per_piece` as the peer reads them. At least one message is sent.
  template <typename Body, typename Entry>
  void ReplyInPieces(std::vector<Entry> entries, size_t per_piece, Body prototype = {}) const;
};

template <typename Body, typename Entry>
void OfRequest::ReplyInPieces(std::vector<Entry> entries, size_t per_piece, Body prototype) const {
  auto pieces = [&connection = from, xid = message.xid, nxm = message.nxm, entries = std::move(entries), per_piece,
                 prototype = std::move(prototype), at = size_t{0}, done = false]() mutable -> std::string {
    if (done) return "";
    Body body = prototype;
    const size_t end = std::min(entries.size(), at + per_piece);
    body.entries.assign(std::make_move_iterator(entries.begin() + static_cast<ptrdiff_t>(at)),
                        std::make_move_iterator(entries.begin() + static_cast<ptrdiff_t>(end)));
    at = end;
    done = at == entries.size();
    body.more = !done;
    return connection.Encode(std::move(body), xid, nxm);
  };
  from.channel().SendPieces(std::move(pieces));
}

}  // namespace sluice
