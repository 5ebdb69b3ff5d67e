// Conjunctive matches (ovs-fields(7), "Conjunctive Match Fields").
#pragma once

#include <absl/types/span.h>

#include <cstdint>
#include <vector>

#include "ofproto/flows/rule.h"

namespace sluice {

// Whether the actions make the flow a clause: it has conjunction actions (and at most notes beside them).
bool HasConjunctions(const OfActions& actions);

// The ids, ascending, of the conjunctions of which the flows, all of one priority, are all clauses.
std::vector<uint32_t> WholeConjunctions(absl::Span<const Rule* const> flows);

}  // namespace sluice
