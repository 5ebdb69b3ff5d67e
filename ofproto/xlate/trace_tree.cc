#include "ofproto/xlate/trace_tree.h"

namespace sluice {
namespace {

bool IsLine(TraceNode::Type type) {
  switch (type) {
    case TraceNode::Type::kBridge:
    case TraceNode::Type::kTable:
    case TraceNode::Type::kThaw:
      return false;
    case TraceNode::Type::kBucket:
    case TraceNode::Type::kAction:
    case TraceNode::Type::kDetail:
    case TraceNode::Type::kWarning:
    case TraceNode::Type::kError:
      break;
  }
  return true;
}

std::string Line(const TraceNode& node, const std::string& indent) {
  switch (node.type) {
    case TraceNode::Type::kDetail:
      return indent + " -> " + node.text + "\n";
    case TraceNode::Type::kWarning:
      return indent + " >> " + node.text + "\n";
    case TraceNode::Type::kError:
      return indent + " >>>> " + node.text + " <<<<\n";
    case TraceNode::Type::kBridge:
      return "\n" + indent + node.text + "\n" + indent + std::string(node.text.size(), '-') + "\n";
    case TraceNode::Type::kTable:
    case TraceNode::Type::kThaw:
    case TraceNode::Type::kBucket:
    case TraceNode::Type::kAction:
      break;
  }
  return indent + node.text + "\n";
}

void Append(const std::deque<TraceNode>& nodes, size_t level, std::string& out) {
  for (const TraceNode& node : nodes) {
    const size_t deeper = &node != &nodes.back() || IsLine(node.type) ? 1 : 0;
    out += Line(node, std::string((level + deeper) * 4, ' '));
    Append(node.children, level + 2 * deeper, out);
  }
}

}  // namespace

std::string FormatTrace(const std::deque<TraceNode>& nodes) {
  std::string out;
  Append(nodes, 0, out);
  return out;
}

}  // namespace sluice
