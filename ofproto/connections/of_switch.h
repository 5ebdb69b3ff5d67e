// OfSwitch: a bridge as its OpenFlow connections see it. Implemented by ofproto over Switch::Impl, faked in tests. Main
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/openflow/message.h"
#include "ofproto/flows/of_pipeline.h"

namespace sluice {

class OfSwitch {
 public:
  virtual ~OfSwitch() = default;

  virtual std::string bridge() const = 0;
  virtual uint64_t datapath_id() const = 0;
  virtual OfDesc description() const = 0;
  virtual OfPipeline& pipeline() = 0;
  virtual OfNames names() const = 0;

  virtual std::vector<OfPortDesc> ports() const = 0;  // by number, the local port last
  virtual OfStatus ModifyPort(const OfPortMod& mod) = 0;
  virtual std::vector<OfPortStats> port_stats(OfPort port) const = 0;  // kOfpNone: all

  // Pushes the statistics of installed flows into rules, groups and meters, so that what is read next is right.
  virtual void SyncStatistics() = 0;
  // Translates and carries out: packet-out, and the continuation of a paused packet.
  virtual OfStatus ExecutePacketOut(const OfPacketOut& out) = 0;
  virtual OfStatus Resume(const OfPacketIn& packet) = 0;
  // Removes all flows, then adds the one that a bridge without controller has (NORMAL), unless it is secure.
  virtual void ResetFlows() = 0;
};

}  // namespace sluice
