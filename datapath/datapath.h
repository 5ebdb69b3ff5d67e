// Datapath: ports, the flows between them and the PMD threads that forward; one switch fabric.
//
// All of it belongs to the main thread. A change is complete when its function returns, also in the threads; traffic
// goes on meanwhile. All or nothing: when a function fails, everything is as it was. Port numbers are handed out from
// 1; a removed port's number is used again last.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/types/span.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "datapath/flow_table.h"
#include "datapath/kernel_forwarding.h"
#include "datapath/pmd_thread.h"
#include "datapath/port.h"
#include "datapath/rxq_scheduler.h"
#include "datapath/upcall.h"
#include "lib/base/cpu_set.h"
#include "lib/base/cycle_clock.h"

namespace sluice {

struct DatapathConfig {
  std::optional<CpuSet> pmd_cores;  // pmd-cpu-mask; unset: one thread, on the first processor that the process may use
  bool tso = true;                  // userspace-tso-enable, where a port does not say otherwise
  bool kernel_forwarding = true;    // let the kernel forward flows between its own interfaces
  RxqAssignment assignment = RxqAssignment::kCycles;
  bool isolate = true;                  // pmd-rxq-isolate
  LinkMonitor* link_monitor = nullptr;  // tells ports of changes of their devices; outlives the datapath
  // Per thread.
  uint32_t small_buffers = PmdThread::Options{}.small_buffers;
  uint32_t large_buffers = PmdThread::Options{}.large_buffers;
};

// Whether PMD threads can run there; the error names the processor and those that are there.
absl::Status CheckPmdCores(const std::optional<CpuSet>& cores);

// Every frame that came in, and where it is now. received + copies == sent + dropped + consumed.
struct Conservation {
  uint64_t received = 0;  // by the devices, what they dropped included
  uint64_t copies = 0;
  uint64_t sent = 0;
  uint64_t consumed = 0;
  DropCounters drops;

  bool Balanced() const { return received + copies == sent + consumed + TotalDrops(drops); }
};

class Datapath {
 public:
  static constexpr uint32_t kMaxPorts = 65535;

  // A PMD thread and its recent load.
  struct Pmd {
    std::unique_ptr<PmdThread> thread;
    LoadHistory idle;
    PmdThread::Counters cleared;  // what pmd-stats-clear subtracts
    Pipeline::Counters pipeline_cleared;
  };

  // Starts the PMD threads. Fails if a core of the configuration cannot be used.
  static absl::StatusOr<std::unique_ptr<Datapath>> Create(std::string name, const DatapathConfig& config);
  ~Datapath();

  const std::string& name() const { return name_; }
  FlowTable& flows() { return flows_; }

  // Ports
  // ---------------------------------------------------------------------------------------------------------------
  // Returns the port's number: `number` if given, else the lowest that was never used.
  absl::StatusOr<uint32_t> AddPort(const std::string& name, std::string_view type, const NetdevOptions& options,
                                   std::optional<uint32_t> number = std::nullopt);
  absl::Status RemovePort(uint32_t number);
  // The same for many ports at once: the threads are told, and the queues distributed, once and not per port. One that
  // fails leaves the others alone: its answer is in its place. Numbers of ports that are not there are passed over.
  struct PortRequest {
    std::string name;
    std::string type;
    NetdevOptions options;
    std::optional<uint32_t> number;
  };
  std::vector<absl::StatusOr<uint32_t>> AddPorts(absl::Span<const PortRequest> requests);
  void RemovePorts(absl::Span<const uint32_t> numbers);
  // `options`: all of them; those not named go back to their defaults.
  absl::Status SetPortOptions(uint32_t number, const NetdevOptions& options);
  Port* FindPort(uint32_t number) const;
  Port* FindPort(std::string_view name) const;
  const std::map<uint32_t, std::unique_ptr<Port>>& ports() const { return ports_; }
  // Names for the text of flows. Valid while the datapath lives.
  PortNames MakePortNames() const;
  // The device of the port changed.
  void OnLinkChange(Port& port);

  // Threads
  // -------------------------------------------------------------------------------------------------------------
  absl::Status SetPmdCores(const std::optional<CpuSet>& cores);
  void SetTso(bool enabled);
  // Off: every packet takes the way through user space.
  void SetKernelForwarding(bool enabled);
  KernelForwarding& kernel_forwarding() { return kernel_forwarding_; }
  void SetAssignment(RxqAssignment assignment, bool isolate);
  // Distributes the queues anew by their recent load. Returns how many moved.
  size_t Rebalance();
  const std::vector<Pmd>& pmds() const { return pmds_; }
  bool IsIsolated(size_t pmd) const { return pmd < isolated_.size() && isolated_[pmd]; }
  void ClearPmdStats();
  // Cycles of time that the recent loads of queues and threads span.
  uint64_t RecentCycles() const { return elapsed_.Recent(CycleNow() - created_); }
  // Call every five seconds: samples loads, orders the classifier, tries descriptors that had been given up.
  void Tick();
  // Call every second: looks at the devices of which no notification comes (Netdev::needs_link_polling).
  void PollLinks();

  // `handler` outlives the datapath, or is replaced first. nullptr: drop and count.
  void SetUpcallHandler(UpcallHandler* handler);

  // Lookups of packets in all threads.
  struct Lookups {
    uint64_t hit = 0;
    uint64_t missed = 0;
  };
  Lookups CountLookups() const;
  // Exact while traffic flows: the threads pause between two turns.
  Conservation GetConservation();

 private:
  Datapath(std::string name, const DatapathConfig& config) : name_(std::move(name)), config_(config) {}

  absl::StatusOr<Pmd> StartThread(size_t slot, int core);
  void StopThread(Pmd& pmd);
  size_t FreeSlot(const std::vector<Pmd>& starting) const;
  absl::StatusOr<uint32_t> PickNumber(const std::string& port_name, std::optional<uint32_t> wanted) const;
  absl::Status OpenSlots(Port& port);
  struct Opening;
  std::vector<Opening> OpenDevices(absl::Span<const PortRequest> requests) const;
  // Makes `netdev` a port in ports_, of which no thread knows yet.
  absl::StatusOr<Port*> MakePort(const PortRequest& request, PortConfig config, std::unique_ptr<Netdev> netdev);
  // No thread has anything of the ports any more when this returns.
  void Withdraw(absl::Span<Port* const> ports);
  // Withdraws them, takes them out of ports_ and closes their devices.
  void TakeDown(absl::Span<Port* const> ports);
  void StopPolling(const std::vector<PortRxq*>& queues);
  // Computes and applies who polls what. Returns how many queues changed their thread.
  size_t Assign();
  // Runs `function` while every thread waits between two turns.
  void WhilePaused(const std::function<void()>& function);

  const std::string name_;
  DatapathConfig config_;
  DropUpcallHandler drop_handler_;
  UpcallHandler* upcalls_ = &drop_handler_;
  FlowTable flows_;
  KernelForwarding kernel_forwarding_{flows_};
  std::map<uint32_t, std::unique_ptr<Port>> ports_;
  uint32_t next_number_ = 1;
  std::vector<Pmd> pmds_;
  std::vector<bool> isolated_;  // per PMD thread
  const uint64_t created_ = CycleNow();
  LoadHistory elapsed_;  // time, sampled with the loads
  Conservation gone_;    // of ports that are no more
};

}  // namespace sluice
