// What a bridge tells its connections unasked: packets, ports, flows.
#include <algorithm>

#include "ofproto/connections/connection_manager_impl.h"

namespace sluice {
namespace {

// The lists are in the order of numbers, so that one pass finds what differs.
template <typename Visit>
void ComparePorts(const std::vector<OfPortDesc>& before, const std::vector<OfPortDesc>& now, Visit&& visit) {
  auto by_number = [](const OfPortDesc& a, const OfPortDesc& b) { return a.port < b.port; };
  std::vector<OfPortDesc> old = before, next = now;
  std::sort(old.begin(), old.end(), by_number);
  std::sort(next.begin(), next.end(), by_number);
  auto was = old.begin();
  auto is = next.begin();
  while (was != old.end() || is != next.end()) {
    if (is == next.end() || (was != old.end() && was->port < is->port)) {
      visit(OfPortStatus::Reason::kDelete, *was++);
    } else if (was == old.end() || is->port < was->port) {
      visit(OfPortStatus::Reason::kAdd, *is++);
    } else if (was->name != is->name) {
      visit(OfPortStatus::Reason::kDelete, *was++);
      visit(OfPortStatus::Reason::kAdd, *is++);
    } else {
      if (*was != *is) visit(OfPortStatus::Reason::kModify, *is);
      ++was;
      ++is;
    }
  }
}

FlowRemoved RemovedOf(const FlowNotice& notice) {
  const Rule& rule = *notice.rule;
  return {.match = rule.match,
          .priority = rule.priority,
          .cookie = rule.cookie,
          .reason = notice.reason,
          .table = rule.table,
          .duration = OfClock::now() - rule.created,
          .idle_timeout = rule.counters->idle_timeout.load(std::memory_order_relaxed),
          .hard_timeout = rule.counters->hard_timeout.load(std::memory_order_relaxed),
          .packets = rule.counters->packets.load(std::memory_order_relaxed),
          .bytes = rule.counters->bytes.load(std::memory_order_relaxed)};
}

}  // namespace

void ConnectionManager::Impl::PortsChanged() {
  std::vector<OfPortDesc> now = core.of_switch.ports();
  if (!core.connections.empty()) {
    ComparePorts(ports, now, [this](OfPortStatus::Reason reason, const OfPortDesc& port) {
      for (const auto& connection : core.connections) {
        if (!connection->Wants(OfAsyncConfig::kPortStatus, static_cast<unsigned>(reason))) continue;
        connection->Send(OfPortStatus{reason, port}, 0);
      }
    });
  }
  ports = std::move(now);
}

void ConnectionManager::Impl::FlowsChanged(absl::Span<const FlowNotice> notices) {
  if (core.connections.empty()) return;
  for (const FlowNotice& notice : notices) {
    const uint16_t flags = notice.rule->flags;
    if (notice.event != FlowEvent::kRemoved || (flags & kSendFlowRem) == 0 || (flags & kHiddenFlow) != 0) continue;
    for (const auto& connection : core.connections) {
      if (connection->Wants(OfAsyncConfig::kFlowRemoved, static_cast<unsigned>(notice.reason))) {
        connection->Send(RemovedOf(notice), 0);
      }
    }
  }
  for (const auto& connection : core.connections) {
    if (connection->monitors.empty()) continue;
    auto updates = connection->monitors.Report(notices, connection->id(), connection->channel().unsent_bytes());
    if (!updates.empty()) connection->Send(OfFlowMonitorReply{{.entries = std::move(updates)}}, 0);
  }
}

void ConnectionManager::Impl::PacketIn(const PacketInEvent& event) {
  const auto reason = static_cast<unsigned>(event.record->reason);
  for (const auto& connection : core.connections) {
    if (connection->controller_id != event.record->controller_id) continue;
    if (connection->Wants(OfAsyncConfig::kPacketIn, reason)) connection->SendPacketIn(event);
  }
}

}  // namespace sluice
