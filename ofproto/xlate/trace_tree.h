// TraceNode: what translation did, step by step, as ofproto/trace tells it.
#pragma once

#include <deque>
#include <string>

namespace sluice {

struct TraceNode {
  // kBridge, kTable and kThaw hold what happened in them; the others are lines.
  enum class Type { kBridge, kTable, kThaw, kBucket, kAction, kDetail, kWarning, kError };

  Type type = Type::kBridge;
  std::string text;
  std::deque<TraceNode> children;  // a deque: nodes do not move while others are added
};

// The lines of ofproto/trace (ovs-vswitchd(8)). What comes last in its place is not indented, so that a chain of tables
// does not wander to the right.
std::string FormatTrace(const std::deque<TraceNode>& nodes);

}  // namespace sluice
