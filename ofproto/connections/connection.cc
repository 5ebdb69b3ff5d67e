#include "ofproto/connections/connection.h"

#include <algorithm>
#include <utility>

#include "lib/base/log.h"

namespace sluice {
namespace {

LogModule log_module("connmgr");

constexpr uint16_t kDefaultMissSendLen = 128;
// Of the offending message in an error message. The specifications ask for at least 64.
constexpr size_t kErrorBytes = 64;

using Reason = OfPacketIn::Reason;

bool IsMiss(Reason reason) {
  return reason == Reason::kNoMatch || reason == Reason::kExplicitMiss || reason == Reason::kImplicitMiss;
}

}  // namespace

OfConnection::OfConnection(EventLoop& loop, std::unique_ptr<Stream> stream, uint32_t id, Options options, Owner& owner)
    : miss_send_len(options.kind == Kind::kPrimary ? kDefaultMissSendLen : 0),
      loop_(loop),
      id_(id),
      options_(options),
      owner_(owner),
      limiters_{PacketInLimiter(options.rate_limit, options.burst_limit, Clock::now()),
                PacketInLimiter(options.rate_limit, options.burst_limit, Clock::now())},
      channel_(loop, std::move(stream), options.channel, *this) {}

void OfConnection::OnOpen() {
  if (options_.async_messages) async_ = DefaultAsyncConfig(version());
  owner_.OnOpen(*this);
}

void OfConnection::OnMessage(std::string message) {
  answered = true;
  owner_.OnRequest(*this, message);
}

std::string OfConnection::Encode(OfBody body, uint32_t xid, bool use_nxm) const {
  return EncodeMessage({.version = version(), .xid = xid, .body = std::move(body), .nxm = use_nxm}, codec);
}

void OfConnection::Send(OfBody body, uint32_t xid) { channel_.Send(Encode(std::move(body), xid, nxm)); }

void OfConnection::SendError(const OfFailure& failure, std::string_view offending, uint32_t xid) {
  SLUICE_LOG_RATE_LIMITED(log_module, kInfo, 10, "{}: sending {} error reply: {}", name(), ErrorName(failure.error),
                          failure.message);
  Send(OfErrorMessage{ErrorCode(failure.error, version()), std::string(offending.substr(0, kErrorBytes))}, xid);
}

bool OfConnection::Wants(OfAsyncConfig::Type type, unsigned reason) const {
  if (!is_open()) return false;
  if (options_.kind == Kind::kService && miss_send_len == 0) return false;
  uint32_t mask = async_.masks[role == OfRole::kSecondary ? 1 : 0][type];
  if (type == OfAsyncConfig::kPacketIn) {
    if (invalid_ttl) mask |= 1u << static_cast<unsigned>(Reason::kInvalidTtl);
    if (reason == static_cast<unsigned>(Reason::kImplicitMiss) && !WantsImplicitMisses(version())) return false;
  }
  return reason < 32 && (mask >> reason & 1) != 0;
}

void OfConnection::SetAsync(const OfSetAsync& set) { ApplyAsync(set, async_); }

// An action says itself how much of the packet it sends.
uint16_t OfConnection::MaxLength(const PacketInRecord& record) const {
  switch (record.reason) {
    case Reason::kNoMatch:
    case Reason::kImplicitMiss:
    case Reason::kInvalidTtl:
      return miss_send_len;
    default:
      return record.max_len;
  }
}

void OfConnection::SendPacketIn(const PacketInEvent& event) {
  const PacketInRecord& record = *event.record;
  if (channel_.unsent_bytes() > kMaxPacketInBacklog) return;
  OfPacketIn packet_in{.packet = event.packet,
                       .total_length = event.total_length,
                       .reason = PublicReason(record.reason, version()),
                       .table = record.table,
                       .cookie = record.cookie,
                       .metadata = record.metadata,
                       .userdata = record.userdata,
                       .continuation = record.continuation};
  if (const uint16_t limit = MaxLength(record); limit != kNoMaxLen && packet_in.packet.size() > limit) {
    packet_in.packet.resize(limit);
  }
  std::string bytes = Encode(std::move(packet_in), 0, nxm);
  const auto port = static_cast<OfPort>(record.metadata.value.in_port);
  if (limiters_[IsMiss(record.reason) ? 0 : 1].Admit(port, bytes, Clock::now())) {
    channel_.Send(std::move(bytes));
  } else if (!limiter_timer_) {
    SendWaiting();
  }
}

// Sends what the limits admit by now, and comes back when they admit more.
void OfConnection::SendWaiting() {
  limiter_timer_.Cancel();
  const auto now = Clock::now();
  std::optional<Clock::time_point> next;
  for (PacketInLimiter& limiter : limiters_) {
    while (auto bytes = limiter.Take(now)) channel_.Send(*std::move(bytes));
    if (auto time = limiter.NextTime(); time && (!next || *time < *next)) next = time;
  }
  if (!next) return;
  const auto delay = std::max<Clock::duration>(*next - now, std::chrono::milliseconds(1));
  limiter_timer_ = loop_.RunAfter(delay, [this] { SendWaiting(); });
}

void OfConnection::Tick(Clock::time_point now) {
  for (auto it = bundles.begin(); it != bundles.end();) {
    if (now - it->second.used < PendingBundle::kTimeout) {
      ++it;
      continue;
    }
    SendError({OfError::kBfcTimeout,
               fmt::format("bundle {:#x} was not used for {} s", it->first, PendingBundle::kTimeout.count())},
              "", 0);
    it = bundles.erase(it);
  }
  channel_.Tick(now);
}

}  // namespace sluice
