#include "datapath/parallel.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace sluice {
namespace {

// The kernel makes who closes a device or a packet socket wait for grace periods, of which one serves all who wait.
constexpr size_t kMaxThreads = 64;
constexpr size_t kFew = 4;  // not worth a thread

}  // namespace

void ParallelFor(size_t count, const std::function<void(size_t)>& function) {
  if (count < kFew) {
    for (size_t i = 0; i < count; ++i) function(i);
    return;
  }
  std::atomic<size_t> next{0};
  std::vector<std::thread> threads;
  for (size_t t = 0; t < std::min(count, kMaxThreads); ++t) {
    threads.emplace_back([&] {
      for (size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) function(i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace sluice
