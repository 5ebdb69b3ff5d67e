// KernelForwarding: chooses flows of one datapath that the kernel forwards by itself, and takes them back.
//
// PMD threads offer flows that they see often (FlowOffers). A worker thread checks them and gives them to KernelFlows;
// it takes back those that are idle. What the main thread or a revalidator changes in the flow table holds at once: the
// table withdraws a flow (OffloadedFlow) before the change is done, and the worker only tidies up.
//
// Taken are flows that output to one other port, where both ports take part (Netdev::JoinKernelFlows) and are open, and
// whose mask the kernel key decides (KernelKeyDecides). Each exact key becomes an entry of its own.
//
// Locking: the entries are guarded by the flow table's writer mutex. KernelShare has a mutex of its own, taken last.
#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/status/statusor.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "datapath/flow_offers.h"
#include "datapath/flow_table.h"
#include "datapath/offloaded_flow.h"
#include "netdev/kernel_flows/kernel_flows.h"
#include "netdev/netdev.h"

namespace sluice {

class KernelForwarding {
 public:
  // A flow that forwarded nothing for so long is taken back. Longer than the idle time-out of flows in a bridge, so
  // that it is the flow that goes first, and the first packet after a pause still has the short way.
  static constexpr std::chrono::seconds kIdleTimeout{30};

  // `table` outlives this.
  explicit KernelForwarding(FlowTable& table) : table_(table) {}
  // All ports have been removed.
  ~KernelForwarding();
  KernelForwarding(const KernelForwarding&) = delete;
  KernelForwarding& operator=(const KernelForwarding&) = delete;

  // Main thread.
  //
  // Lets the port's device take part if it can; its status says why not.
  void AddPort(uint32_t number, Netdev& netdev);
  // Nothing is forwarded from or to the port when this returns. Its device lives on until then.
  void RemovePort(uint32_t number);
  // Returns when nothing is on its way any more by what has just been closed (a port's gate): some milliseconds.
  void Settle() {
    if (flows_ != nullptr) WaitForBpfPrograms();
  }
  // For the PMD thread of that slot; lives as long as this.
  FlowOffers* OffersOf(size_t slot);

  struct Report {
    uint64_t flows = 0;      // with the kernel now
    uint64_t installed = 0;  // all since the start
    uint64_t late = 0;       // of them, begun while their receive queue was never empty
    uint64_t idle = 0;       // taken back because they were
    uint64_t withdrawn = 0;  // taken back because the flow or a port changed
    uint64_t refused = 0;    // offers that could not be taken: the flow was gone or not forwardable any more
    uint64_t full = 0;       // offers that found no room
    uint64_t lost = 0;       // offers that came too fast
    sluice_lane forwarded{};
  };
  Report GetReport();
  // What the kernel forwarded, of all ports that there were. Each frame once.
  sluice_lane Totals() { return flows_ != nullptr ? flows_->Totals() : sluice_lane{}; }

 private:
  class KernelShare;
  struct KeyHash {
    size_t operator()(const sluice_flow_key& key) const;
  };
  struct KeyEqual {
    bool operator()(const sluice_flow_key& a, const sluice_flow_key& b) const {
      return std::memcmp(&a, &b, sizeof(a)) == 0;
    }
  };
  struct Entry {
    enum class State : uint8_t { kFree, kWaiting, kLive, kDying };
    State state = State::kFree;
    uint32_t ingress = 0;  // indexes in KernelFlows
    uint32_t egress = 0;
    uint64_t since_ms = 0;
    KernelShare* share = nullptr;  // of its flow; nullptr: the flow is gone
    sluice_flow_key key{};
  };

  void Run();
  bool TakeOffers();
  void Install(const FlowOffer& offer, FlowOffers& offers);
  const KernelPort* FindPort(uint32_t number) const;
  void OpenLate();
  void TakeBackIdle();
  void TidyUp();
  // With the table's mutex held.
  void Withdraw(uint32_t slot, Counter& reason);

  FlowTable& table_;
  std::unique_ptr<KernelFlows> flows_;  // from the first port on
  absl::Status flows_status_ = absl::OkStatus();

  std::mutex offers_mutex_;  // guards the list, not what is in it
  std::map<size_t, std::unique_ptr<FlowOffers>> offers_;

  // Guarded by the table's mutex.
  std::map<uint32_t, const KernelPort*> ports_;  // by datapath number
  std::vector<Entry> entries_;                   // by slot
  absl::flat_hash_map<sluice_flow_key, uint32_t, KeyHash, KeyEqual> by_key_;
  std::vector<uint32_t> waiting_;
  std::vector<uint32_t> dying_;
  Counter installed_, late_, idle_, withdrawn_, refused_, full_;

  Waker waker_;
  std::atomic<bool> stop_{false};
  std::thread worker_;
};

}  // namespace sluice
