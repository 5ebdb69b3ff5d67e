// MacTable: the forwarding database of one bridge: (VLAN, MAC) to the bundle behind which that address was last seen.
//
// Any thread; lookups take no lock that another lookup waits for long (sharded). Ageing follows the least recently
// used; when the table is full the bundle with the most entries loses its oldest one, so that no port can crowd the
// others out ("fair eviction"). Static entries count, but are not evicted.
//
// A gratuitous ARP (a virtual machine says where it is now) locks the entry for kGratuitousLock: what a bond still
// reflects of the machine's packets does not move it back, and neither does a flow that it left behind elsewhere.
//
// generation() changes when a decision that was made by a lookup before may be another now: an address is new, moved,
// expired or evicted. Refreshing does not change it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/flow/flow_key.h"

namespace sluice {

class MacTable {
 public:
  static constexpr std::chrono::seconds kGratuitousLock{5};

  struct Entry {
    uint16_t vlan = 0;
    MacAddress mac{};
    uint64_t bundle = 0;  // XBundle::id
    bool is_static = false;
    std::chrono::milliseconds age{0};
  };
  struct Statistics {  // fdb/stats-show
    uint64_t learned = 0, expired = 0, evicted = 0, moved = 0;
    uint64_t entries = 0, static_entries = 0, max_entries = 0;
  };
  using Clock = std::chrono::steady_clock;

  MacTable(uint32_t max_entries, std::chrono::seconds aging);
  ~MacTable();

  // The bundle, if the address is known. Multicast never is.
  std::optional<uint64_t> Lookup(uint16_t vlan, const MacAddress& mac) const;
  // `mac` was seen as a source in `bundle`. Returns whether that changed the table otherwise than by refreshing.
  // Multicast sources are not learned; static entries do not move. `reflects`: the bundle may send back what went out
  // elsewhere (a bond), so it neither locks entries nor moves locked ones.
  bool Learn(uint16_t vlan, const MacAddress& mac, uint64_t bundle, bool gratuitous_arp, Clock::time_point now,
             bool reflects = false);
  // For flows' statistics: the last packet came at `used`, which may be past. Like Learn(), but does not touch an entry
  // that is newer or locked, and does not bring back what Flush(), Remove() or RemoveBundle() took since.
  void Refresh(uint16_t vlan, const MacAddress& mac, uint64_t bundle, Clock::time_point used);

  void SetLimits(uint32_t max_entries, std::chrono::seconds aging);
  void AddStatic(uint16_t vlan, const MacAddress& mac, uint64_t bundle);
  bool Remove(uint16_t vlan, const MacAddress& mac);  // fdb/del, static ones too
  void RemoveBundle(uint64_t bundle);                 // static ones too
  void Flush();                                       // dynamic ones
  size_t Expire(Clock::time_point now);               // call about once a second

  uint64_t generation() const;
  std::vector<Entry> Entries(Clock::time_point now) const;  // in the order of fdb/show: most recently used last
  Statistics statistics() const;
  void ClearStatistics();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice
