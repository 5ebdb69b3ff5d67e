#include "ofproto/connections/channel.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "lib/base/log.h"

namespace sluice {
namespace {

constexpr uint8_t kTypeHello = 0;
constexpr uint8_t kTypeError = 1;
constexpr uint8_t kNewestVersion = static_cast<uint8_t>(OfVersion::k15);

// The versions up to the one in a header, which may be one that we do not know.
OfVersions UpTo(uint8_t version) { return version >= 31 ? ~1u : (2u << version) - 2; }

std::string VersionsText(OfVersions versions) {
  std::string text;
  for (unsigned bit = 0; bit < 32; ++bit) {
    if ((versions >> bit & 1) != 0) text += fmt::format("{}0x{:02x}", text.empty() ? "" : ", ", bit);
  }
  return text;
}

}  // namespace

OfVersion HighestVersion(OfVersions versions) {
  return static_cast<OfVersion>(std::bit_width(versions & kAllOfVersions) - 1);
}

OfChannel::OfChannel(EventLoop& loop, std::unique_ptr<Stream> stream, Options options, User& user)
    : loop_(loop),
      stream_(std::move(stream)),
      options_(options),
      user_(user),
      version_(HighestVersion(options.versions)),
      made_(Clock::now()),
      last_received_(made_),
      progress_(made_) {
  stream_->SetCallbacks([this](std::string_view bytes) { OnData(bytes); },
                        [this](const absl::Status& status) { Fail(status); });
  stream_->SetOnDrained([this] {
    Pump();
    if (!closed_) user_.OnDrained();
  });
  Send(EncodeMessage({.version = version_, .xid = NextXid(), .body = OfHello{.versions = options_.versions}}));
}

void OfChannel::Send(std::string bytes) {
  if (closed_ || overflown_ || bytes.empty()) return;
  if (stream_->unsent_bytes() + bytes.size() > kMaxUnsent) {
    overflown_ = true;  // the connection ends with the next tick: not from inside a caller who is about to send more
    return;
  }
  Copy(bytes);
  queued_ += bytes.size();
  stream_->Send(std::move(bytes));
}

void OfChannel::Close() {
  if (std::exchange(closed_, true)) return;
  probe_timer_.Cancel();
  pieces_ = nullptr;
  inbox_.clear();
  stream_->Close();
}

void OfChannel::Fail(const absl::Status& status) {
  if (closed_) return;
  Close();
  user_.OnClosed(status);
}

void OfChannel::OnData(std::string_view bytes) {
  last_received_ = Clock::now();
  probing_ = false;
  const bool whole = splitter_.Feed(bytes, [this](std::string message) {
    inbox_.push_back(std::move(message));
    return true;
  });
  Pump();
  if (!whole) Fail(InvalidArgument("{}: a message says that it is shorter than its header of 8 bytes", name()));
}

void OfChannel::Pump() {
  if (std::exchange(pumping_, true)) return;
  while (!closed_ && !overflown_ && stream_->unsent_bytes() < kHighWater) {
    if (pieces_ != nullptr) {
      std::string piece = pieces_();
      if (piece.empty()) pieces_ = nullptr;
      Send(std::move(piece));
    } else if (!inbox_.empty()) {
      std::string message = std::move(inbox_.front());
      inbox_.pop_front();
      Take(std::move(message));
    } else {
      break;
    }
  }
  pumping_ = false;
  if (!closed_) stream_->SetReading(inbox_.empty() && pieces_ == nullptr);
}

void OfChannel::Take(std::string message) {
  Copy(message);
  if (!open_) {
    TakeHello(message);
  } else if (message[1] != kTypeHello) {  // one more hello says nothing new
    user_.OnMessage(std::move(message));
  }
}

void OfChannel::TakeHello(const std::string& message) {
  const OfHeader header = ReadHeader(AsBytes(message));
  if (header.type == kTypeError) {
    Fail(FailedPrecondition("{}: the peer refused our hello: it wants none of the versions {}", name(),
                            VersionsText(options_.versions)));
    return;
  }
  if (header.type != kTypeHello || header.version == 0) {
    Refuse(message, "expected a hello as the first message");
    return;
  }
  // One of a newer version than we know says in its elements, or by its header, what we have in common.
  std::string known = message;
  known[0] = static_cast<char>(std::min(header.version, kNewestVersion));
  OfResult<OfMessage> decoded = DecodeMessage(AsBytes(known));
  const OfHello* hello = decoded.ok() ? std::get_if<OfHello>(&decoded->body) : nullptr;
  if (hello == nullptr) {
    Refuse(message, "the hello cannot be read");
    return;
  }
  Agree(hello->versions != 0 ? hello->versions : UpTo(header.version));
  if (!open_) {
    Refuse(message, fmt::format("We support versions {}; you support versions {}", VersionsText(options_.versions),
                                VersionsText(hello->versions != 0 ? hello->versions : UpTo(header.version))));
  }
}

void OfChannel::Agree(OfVersions peer) {
  const OfVersions common = peer & options_.versions & kAllOfVersions;
  if (common == 0) return;
  version_ = HighestVersion(common);
  open_ = true;
  if (options_.probe.count() > 0) ArmProbe(options_.probe);
  user_.OnOpen();
}

void OfChannel::Refuse(const std::string& hello, const std::string& why) {
  const OfVersion version = static_cast<OfVersion>(
      std::clamp<uint8_t>(static_cast<uint8_t>(hello[0]), 1, static_cast<uint8_t>(HighestVersion(options_.versions))));
  Send(EncodeMessage({.version = version,
                      .xid = ReadHeader(AsBytes(hello)).xid,
                      .body = OfErrorMessage{ErrorCode(OfError::kHfcIncompatible, version), why}}));
  Fail(FailedPrecondition("{}: {}", name(), why));
}

// One timer that looks when it rings how long ago the peer was heard, instead of one that each message sets anew.
void OfChannel::ArmProbe(std::chrono::nanoseconds delay) {
  probe_timer_ = loop_.RunAfter(delay, [this] { OnProbeTimer(); });
}

void OfChannel::OnProbeTimer() {
  const auto silent = Clock::now() - last_received_;
  const bool reading = inbox_.empty() && pieces_ == nullptr;
  if (!reading || silent < options_.probe) {
    // While we do not read, the peer cannot be heard: then Tick() watches whether it reads.
    ArmProbe(reading ? options_.probe - silent : options_.probe);
  } else if (!std::exchange(probing_, true)) {
    Send(EncodeMessage({.version = version_, .xid = NextXid(), .body = OfEchoRequest{}}));
    ArmProbe(options_.probe);
  } else {
    Fail(MakeStatus(absl::StatusCode::kDeadlineExceeded,
                    fmt::format("{}: no answer to the inactivity probe within {:.3g} s", name(),
                                static_cast<double>(options_.probe.count()) / 1000)));
  }
}

void OfChannel::Tick(Clock::time_point now) {
  if (closed_) return;
  const uint64_t taken = queued_ - stream_->unsent_bytes();
  if (taken == queued_ || std::exchange(taken_, taken) != taken) progress_ = now;
  if (overflown_) {
    Fail(MakeStatus(absl::StatusCode::kResourceExhausted,
                    fmt::format("{}: the peer does not read: {} bytes for it would be waiting", name(), kMaxUnsent)));
  } else if (now - progress_ >= kStallTimeout) {
    Fail(MakeStatus(absl::StatusCode::kDeadlineExceeded,
                    fmt::format("{}: the peer has not read for {} s", name(), kStallTimeout.count())));
  } else if (!open_ && now - made_ >= kHelloTimeout) {
    Fail(MakeStatus(absl::StatusCode::kDeadlineExceeded,
                    fmt::format("{}: no hello within {} s", name(), kHelloTimeout.count())));
  }
}

void OfChannel::Copy(std::string_view messages) {
  while (messages.size() >= kOfHeaderSize) {
    const size_t length = std::clamp<size_t>(ReadHeader(AsBytes(messages)).length, kOfHeaderSize, messages.size());
    user_.OnCopy(messages.substr(0, length));
    messages.remove_prefix(length);
  }
}

}  // namespace sluice
