#include "lib/base/rcu.h"

#include <urcu/urcu-qsbr.h>

#ifdef __SANITIZE_THREAD__
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
// liburcu frees what it allocated in another thread, ordered by atomics that only it can see.
extern "C" const char* __tsan_default_suppressions() { return "called_from_lib:liburcu-qsbr.so\n"; }
#endif

namespace sluice {

namespace {

thread_local int registrations = 0;

struct Postponed : rcu_head {
  std::function<void()> function;
};

// ThreadSanitizer does not see liburcu's barriers. What a reader did before it became quiescent happens before what
// follows a grace period; these say so.
#ifdef __SANITIZE_THREAD__
char quiescence;
void TsanQuiescent() { __tsan_release(&quiescence); }
void TsanGracePeriodOver() { __tsan_acquire(&quiescence); }
#else
void TsanQuiescent() {}
void TsanGracePeriodOver() {}
#endif

}  // namespace

RcuThread::RcuThread() {
  if (registrations++ == 0) {
    urcu_qsbr_register_thread();
  }
}

RcuThread::~RcuThread() {
  if (--registrations == 0) {
    TsanQuiescent();
    urcu_qsbr_unregister_thread();
  }
}

void RcuQuiescent() {
  TsanQuiescent();
  urcu_qsbr_quiescent_state();
}

RcuOffline::RcuOffline() : was_online_(registrations > 0 && urcu_qsbr_read_ongoing()) {
  if (was_online_) {
    TsanQuiescent();
    urcu_qsbr_thread_offline();
  }
}

RcuOffline::~RcuOffline() {
  if (was_online_) {
    urcu_qsbr_thread_online();
  }
}

void RcuSynchronize() {
  TsanQuiescent();
  urcu_qsbr_synchronize_rcu();
  TsanGracePeriodOver();
}

void RcuPostpone(std::function<void()> function) {
  auto* postponed = new Postponed{{}, std::move(function)};
  TsanQuiescent();
  urcu_qsbr_call_rcu(postponed, [](rcu_head* head) {
    TsanGracePeriodOver();
    std::unique_ptr<Postponed> owned(static_cast<Postponed*>(head));
    owned->function();
    TsanQuiescent();  // for RcuBarrier()
  });
}

void RcuBarrier() {
  urcu_qsbr_barrier();
  TsanGracePeriodOver();
}

}  // namespace sluice
