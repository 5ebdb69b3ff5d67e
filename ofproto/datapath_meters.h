// MetersInDatapath: the meters of OpenFlow kept by the datapath that bridges use, for MeterTable.
//
// The main thread's. While there is no datapath, meters cannot be added; those that there were are gone with it.
#pragma once

#include "datapath/datapath.h"
#include "ofproto/flows/groups.h"

namespace sluice {

class MetersInDatapath final : public DatapathMeters {
 public:
  // `datapath` lives until the next call; nullptr: there is none.
  void set_datapath(Datapath* datapath) { datapath_ = datapath; }

  absl::StatusOr<uint32_t> AddMeter(const MeterConfig& config) override;
  void ModifyMeter(uint32_t number, const MeterConfig& config) override;
  void RemoveMeter(uint32_t number) override;
  // Packets and bytes, of the meter and of its bands; wire frames. The rest is the caller's.
  MeterStats ReadMeter(uint32_t number) const override;

 private:
  Datapath* datapath_ = nullptr;
};

}  // namespace sluice
