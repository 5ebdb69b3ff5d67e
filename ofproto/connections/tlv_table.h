// TlvTable: which option of a Geneve header each tun_metadata field is (NXT_TLV_TABLE_MOD). Kept and answered; matching
// on these fields comes with tunnels.
#pragma once

#include <map>

#include "lib/openflow/message.h"

namespace sluice {

class TlvTable {
 public:
  static constexpr uint32_t kMaxOptionSpace = 256;  // bytes
  static constexpr uint16_t kMaxFields = 64;
  static constexpr uint8_t kMaxOptionLength = 124;

  // Whole or not at all.
  OfStatus Apply(const NxTlvTableMod& mod);
  NxTlvTableReply Describe() const;

 private:
  using Maps = std::map<uint16_t, NxTlvTableMod::Map>;  // by field
  static OfStatus Add(const NxTlvTableMod::Map& map, Maps& maps);

  Maps maps_;
};

}  // namespace sluice
