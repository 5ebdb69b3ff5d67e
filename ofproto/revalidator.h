// Revalidator: the thread that keeps installed flows equal to what translation would say now.
//
// It makes a pass over all flows when the topology or a MAC table has changed, and otherwise every max-revalidator to
// push statistics and to find idle flows; with no flows and no changes it sleeps. In a pass each flow's statistics are
// pushed; one that was idle for max-idle (shorter while there are more flows than the limit) is removed; and if what it
// depends on changed, it is translated again: removed if it must look at more of the packet, modified if its actions
// differ.
//
// Why no flow stays wrong: a pass that follows a change first notes the versions of topology and tables, then waits for
// an RCU grace period. A translation that had begun before that has its flow in the table now, so the pass sees it. One
// that begins later sees what was noted or something newer, and the newer brings another pass.
//
// Passes that follow changes keep a distance that grows with their duration, so that tables that keep changing do not
// take a whole processor; flows are right within a second all the same.
#pragma once

#include <absl/container/flat_hash_set.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "datapath/flow_table.h"
#include "ofproto/forwarding_state.h"

namespace sluice {

class Revalidator {
 public:
  struct Statistics {
    uint64_t passes = 0;
    uint64_t removed = 0;  // flows, for whatever reason
    uint64_t modified = 0;
    uint64_t last_pass_flows = 0;
    std::chrono::milliseconds last_pass{0};
    uint64_t max_flows = 0;      // seen in one pass
    double average_flows = 0.0;  // over passes, recent ones weigh more
  };

  // Starts the thread. Both outlive it.
  Revalidator(FlowTable& flows, ForwardingState& state);
  ~Revalidator();
  Revalidator(const Revalidator&) = delete;
  Revalidator& operator=(const Revalidator&) = delete;

  // Something may have changed. Any thread; almost free when it was said a moment ago.
  void Wake() {
    // Either this sees that the thread is about to look, or the thread sees what changed.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (!woken_.load(std::memory_order_relaxed)) Notify();
  }
  // Makes a pass that begins after now, and waits for its end, but no longer than `at_most`. Returns whether it ended.
  // Main thread.
  bool Revalidate(std::chrono::milliseconds at_most);
  // Removes every flow. Main thread.
  void Purge();
  // Removes the flows that come from or go to one of these datapath ports, of which the topology that was published a
  // grace period ago knows nothing. Main thread.
  void RemoveFlowsOf(const absl::flat_hash_set<uint32_t>& ports);

  Statistics statistics() const;

 private:
  using Clock = std::chrono::steady_clock;

  // What flows depend on, as it was at some moment.
  struct Versions {
    uint64_t topology = 0;
    uint64_t macs = 0;  // sum over the bridges
    bool operator==(const Versions&) const = default;
  };
  // What one pass goes by, and what it did.
  struct Pass {
    bool check = false;  // whether flows are still right
    uint64_t max_idle_ms = 0;
    uint64_t removed = 0;
    uint64_t modified = 0;
    uint64_t flows = 0;
  };
  enum class Judgement { kKeep, kRemove };

  void Notify();
  void Run();
  // Sleeps until there is work; returns what kind.
  enum class Work { kStop, kPass, kLook };
  Work WaitForWork();
  Versions CurrentVersions() const;
  void MakePass(bool check);
  Judgement Judge(DpFlow& flow, const Topology& topology, Pass& pass);
  Judgement Retranslate(DpFlow& flow, const Topology& topology, Pass& pass);
  void Finish(const Pass& pass, Clock::duration duration);

  FlowTable& flows_;
  ForwardingState& state_;

  // The thread's own.
  Versions seen_;
  Clock::time_point pass_end_{};
  Clock::time_point look_{};  // woken last
  Clock::duration pass_duration_{};
  std::vector<DpFlow*> portion_;
  std::vector<DpFlow*> doomed_;

  std::mutex work_mutex_;  // held while flows' records are used: by a portion of a pass, and by the main thread
  std::atomic<bool> woken_{false};

  mutable std::mutex mutex_;  // guards all below
  std::condition_variable wake_;
  std::condition_variable passed_;
  bool stopping_ = false;
  uint64_t requested_ = 0;  // passes that somebody waits for
  uint64_t served_ = 0;     // `requested_` as it was when the last finished pass began
  Statistics statistics_;
  std::thread thread_;  // last: it uses the rest
};

}  // namespace sluice
