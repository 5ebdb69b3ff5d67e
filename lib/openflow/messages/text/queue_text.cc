#include "lib/openflow/messages/text/text.h"

namespace sluice::messages {
namespace {

void AddRate(std::string_view name, int rate, std::string& out) {
  if (rate < 0 || rate > 1000) return;  // above 100%: not limited
  out += fmt::format(" {}:{}.{}%", name, rate / 10, rate % 10);
}

void FormatQueues(std::vector<OfQueueDesc> queues, const Text& text, std::string& out) {
  std::sort(queues.begin(), queues.end(), [](const OfQueueDesc& a, const OfQueueDesc& b) {
    return std::pair(a.port, a.queue) < std::pair(b.port, b.queue);
  });
  out += " ";
  std::optional<OfPort> port;
  for (const OfQueueDesc& queue : queues) {
    if (port != queue.port) {
      port = queue.port;
      out += fmt::format("port={}\n", FormatOfPort(queue.port, text.names));
    }
    out += fmt::format("queue {}:", queue.queue);
    AddRate("min_rate", queue.min_rate, out);
    AddRate("max_rate", queue.max_rate, out);
    out += "\n";
  }
}

std::string QueueText(uint32_t queue) { return queue == 0xffffffff ? "ALL" : std::to_string(queue); }
std::string PortText(OfPort port, const Text& text) { return FormatOfPort(port, text.names); }

void AddCounter(std::string_view label, uint64_t value, std::string_view after, std::string& out) {
  out += fmt::format("{}{}{}", label, value == UINT64_MAX ? "?" : std::to_string(value), after);
}

}  // namespace

void FormatQueueGetConfigRequest(const OfQueueGetConfigRequest& message, const Text& text, std::string& out) {
  out += " port=" + PortText(message.port, text);
}
void FormatQueueDescRequest(const OfQueueDescRequest& message, const Text& text, std::string& out) {
  out += " port=" + PortText(message.port, text);
  if (message.queue != 0xffffffff) out += " queue=" + QueueText(message.queue);
}
void FormatQueueGetConfigReply(const OfQueueGetConfigReply& message, const Text& text, std::string& out) {
  FormatQueues(message.queues, text, out);
}
void FormatQueueDescReply(const OfQueueDescReply& message, const Text& text, std::string& out) {
  FormatQueues(message.entries, text, out);
}

void FormatQueueStatsRequest(const OfQueueStatsRequest& message, const Text& text, std::string& out) {
  out += fmt::format(" port={} queue={}", PortText(message.port, text), QueueText(message.queue));
}

void FormatQueueStatsReply(const OfQueueStatsReply& message, const Text& text, std::string& out) {
  out += fmt::format(" {} queues\n", message.entries.size());
  if (text.verbosity < 1) return;
  for (const OfQueueStats& stats : message.entries) {
    out += fmt::format("  port {} queue {}: ", PortText(stats.port, text), QueueText(stats.queue));
    AddCounter("bytes=", stats.tx_bytes, ", ", out);
    AddCounter("pkts=", stats.tx_packets, ", ", out);
    AddCounter("errors=", stats.tx_errors, ", ", out);
    out += "duration=" + (stats.duration >= std::chrono::nanoseconds(0) ? DurationText(stats.duration) : "?") + "\n";
  }
}

}  // namespace sluice::messages
