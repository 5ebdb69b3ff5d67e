// ParallelFor: many pieces of work that mostly wait, for the kernel to open or close devices.
#pragma once

#include <cstddef>
#include <functional>

namespace sluice {

// Runs function(0) to function(count - 1), each once and in no order, in several threads at a time if there are many.
// Returns when all have run. The threads are in the network namespace of the calling one.
void ParallelFor(size_t count, const std::function<void(size_t)>& function);

}  // namespace sluice
