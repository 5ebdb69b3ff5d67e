// PmdThread: one thread that polls receive queues and forwards what they give.
//
// Everything the thread uses on the fast path is its own: its list of queues, its table of ports, its pools, its flow
// cache. The main thread changes them by Call(), which runs a function in the PMD thread between two turns of its loop
// and waits for it. So the fast path needs no lock and no indirection, a change is complete when Call() returns, and
// what was taken away from all threads may be destroyed at once.
//
// A call waits for the turn to end, an upcall included: an UpcallHandler must never wait for the thread that calls.
#pragma once

#include <absl/status/statusor.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "datapath/flow_table.h"
#include "datapath/pipeline.h"
#include "datapath/poller.h"
#include "datapath/upcall.h"
#include "lib/packet/slab_pool.h"

namespace sluice {

class PmdThread {
 public:
  struct Options {
    size_t slot = 0;   // of flow and port statistics; no other thread of the datapath has it
    int core = 0;      // bound to this processor
    std::string name;  // of the thread: "pmd-c03"
    uint32_t small_buffers = 16384;
    uint32_t large_buffers = 4096;
  };

  // Starts a thread that polls nothing. `table` and `upcalls` outlive it.
  static absl::StatusOr<std::unique_ptr<PmdThread>> Start(const Options& options, FlowTable& table,
                                                          UpcallHandler& upcalls);
  // Stops it. All its queues and ports have been removed before.
  ~PmdThread();
  PmdThread(const PmdThread&) = delete;
  PmdThread& operator=(const PmdThread&) = delete;

  size_t slot() const { return options_.slot; }
  int core() const { return options_.core; }

  // Runs `function` in the thread and returns when it has run. One caller at a time.
  void Call(const std::function<void()>& function) {
    StartCall(function);
    FinishCall();
  }
  // The same in two steps; `function` lives until FinishCall() returns.
  void StartCall(const std::function<void()>& function);
  void FinishCall();

  // Inside Call() only
  // --------------------------------------------------------------------------------------------------- Starts or stops
  // polling a queue; its port (of this thread) has been set before.
  void AddRxq(PolledRxq* queue);
  void RemoveRxq(PolledRxq* queue);
  // Makes packets for port `number` go to `port`, or nowhere if nullptr.
  void SetPort(uint32_t number, PmdPort* port) { pipeline_.SetPort(number, port); }
  void RefreshDescriptors() { poller_->Refresh(); }
  void RefreshDescriptor(PolledRxq* queue) { poller_->Refresh(queue); }
  void set_upcalls(UpcallHandler& upcalls) { pipeline_.set_upcalls(upcalls); }
  void set_offers(FlowOffers* offers) {
    offers_ = offers;
    pipeline_.set_offers(offers);
  }

  // Written by the thread, read by any. Cycles are those of the time-stamp counter.
  struct alignas(64) Counters {
    Counter turns;       // of the loop
    Counter busy_turns;  // in which a queue gave packets
    Counter busy_cycles;
    Counter idle_cycles;  // polling without result, and the loop itself
    Counter sleep_cycles;
    Counter sleeps;
    Counter packets;  // received; a super-packet is one
    Counter bursts;   // receive calls that gave packets
  };
  const Counters& counters() const { return counters_; }
  const Pipeline::Counters& pipeline_counters() const { return pipeline_.counters(); }

 private:
  PmdThread(const Options& options, FlowTable& table, UpcallHandler& upcalls, PacketPools pools,
            std::unique_ptr<Poller> poller);
  void Run();
  void Loop();
  void RunCall();
  // Asks every active queue once. Returns whether one gave packets.
  bool PollActive();
  // Returns whether the queue is not known to be empty.
  bool Visit(PolledRxq& queue);
  void Sleep();

  const Options options_;
  PacketPools pools_;
  std::unique_ptr<Poller> poller_;
  Pipeline pipeline_;
  FlowOffers* offers_ = nullptr;
  RxBurst burst_;
  Counters counters_;
  uint64_t now_ = 0;  // time-stamp counter at the last look
  bool stopping_ = false;
  absl::Status start_status_;  // valid once started_
  std::atomic<bool> started_{false};

  std::atomic<const std::function<void()>*> call_{nullptr};
  std::thread thread_;
};

}  // namespace sluice
