// FlowMonitors: the flow monitors of one connection: NXST_FLOW_MONITOR of Nicira and OFPMP_FLOW_MONITOR of OpenFlow
// 1.4+ (7.3.5.18), which differ on the wire only.
//
// What other connections change is told in full, what the connection itself changed as the number of its request
// (unless it asked for more). A peer that does not keep up is paused: it gets only deletions of what it knew before
// until it has read everything, then all that was changed meanwhile.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "ofproto/flows/flow_tables.h"

namespace sluice {

class FlowMonitors {
 public:
  static constexpr size_t kMaxMonitors = 1024;
  // Unsent bytes at which updates pause.
  static constexpr size_t kPauseBytes = 128 << 10;

  bool empty() const { return monitors_.empty(); }
  // Adds, modifies or deletes. Of a monitor that wants it, `initial` gets what is there now.
  OfStatus Apply(const OfFlowMonitorRequest& request, const FlowTables& tables, std::vector<OfFlowUpdate>& initial);
  OfStatus Cancel(uint32_t id);
  void Clear() { monitors_.clear(); }

  // What this connection, whose id is `self`, has to hear of these changes. `backlog`: its unsent bytes.
  std::vector<OfFlowUpdate> Report(absl::Span<const FlowNotice> notices, uint32_t self, size_t backlog);
  // When everything is sent: what was kept back, if it is paused.
  std::vector<OfFlowUpdate> Resume(const FlowTables& tables);
  bool paused() const { return paused_.has_value(); }

 private:
  struct Wanted {
    bool any = false;
    bool full = false;  // not abbreviated
    bool instructions = false;
  };
  Wanted Find(const Rule& rule, uint16_t event, bool own) const;

  std::map<uint32_t, OfFlowMonitorRequest> monitors_;
  std::optional<OfClock::time_point> paused_;
};

}  // namespace sluice
