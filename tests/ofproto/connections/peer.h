// The other end of an OpenFlow connection: ovs-ofctl or a controller, as tests play it.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/io/stream.h"
#include "lib/openflow/message.h"

namespace sluice::testing {

class Peer {
 public:
  Peer(std::unique_ptr<Stream> stream, OfVersion version) : version_(version), stream_(std::move(stream)) {
    stream_->SetCallbacks([this](std::string_view bytes) { OnData(bytes); },
                          [this](const absl::Status&) { closed_ = true; });
  }

  OfVersion version() const { return version_; }
  bool closed() const { return closed_; }
  Stream& stream() { return *stream_; }
  OfCodecState& codec() { return codec_; }

  // The transaction id.
  uint32_t Send(OfBody body, bool nxm = false) {
    const uint32_t xid = next_xid_++;
    SendBytes(EncodeMessage({.version = version_, .xid = xid, .body = std::move(body), .nxm = nxm}, codec_));
    return xid;
  }
  void SendBytes(std::string bytes) { stream_->Send(std::move(bytes)); }

  // Everything that came, hello included, in order.
  const std::deque<OfMessage>& received() const { return received_; }
  const std::vector<std::string>& raw() const { return raw_; }
  size_t undecoded() const { return undecoded_; }
  void Forget() { received_.clear(); }

  // The first message with this transaction id; nullptr: not yet.
  const OfMessage* Find(uint32_t xid) const {
    for (const OfMessage& message : received_) {
      if (message.xid == xid && !std::holds_alternative<OfHello>(message.body)) return &message;
    }
    return nullptr;
  }
  template <typename Body>
  std::vector<const Body*> All() const {
    std::vector<const Body*> all;
    for (const OfMessage& message : received_) {
      if (const Body* body = std::get_if<Body>(&message.body)) all.push_back(body);
    }
    return all;
  }

 private:
  void OnData(std::string_view bytes) {
    splitter_.Feed(bytes, [this](std::string message) {
      OfResult<OfMessage> decoded = DecodeMessage(AsBytes(message), codec_);
      if (decoded.ok()) {
        received_.push_back(*std::move(decoded));
      } else {
        ++undecoded_;
      }
      raw_.push_back(std::move(message));
      return true;
    });
  }

  const OfVersion version_;
  std::unique_ptr<Stream> stream_;
  OfCodecState codec_;
  OfStreamSplitter splitter_;
  std::deque<OfMessage> received_;
  std::vector<std::string> raw_;
  size_t undecoded_ = 0;
  bool closed_ = false;
  uint32_t next_xid_ = 1000;
};

}  // namespace sluice::testing
