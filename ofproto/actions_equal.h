// Whether two lists of datapath actions are the same, and what ports they mention.
#pragma once

#include <cstdint>
#include <functional>

#include "lib/flow/actions.h"

namespace sluice {

bool ActionsEqual(const ActionList& a, const ActionList& b);

// Whether a list, or one inside it, outputs to a port of which `wanted` is true.
bool OutputsTo(const ActionList& actions, const std::function<bool(uint32_t port)>& wanted);

}  // namespace sluice
