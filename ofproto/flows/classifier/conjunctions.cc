#include "ofproto/flows/classifier/conjunctions.h"

#include <algorithm>
#include <map>
#include <variant>

namespace sluice {

bool HasConjunctions(const OfActions& actions) {
  return std::any_of(actions.begin(), actions.end(),
                     [](const OfAction& action) { return std::holds_alternative<OfConjunction>(action.value); });
}

std::vector<uint32_t> WholeConjunctions(absl::Span<const Rule* const> flows) {
  std::map<uint32_t, uint64_t> missing;  // clauses of each id
  for (const Rule* flow : flows) {
    for (const OfAction& action : *flow->actions) {
      const auto* conjunction = std::get_if<OfConjunction>(&action.value);
      if (conjunction == nullptr) continue;
      const unsigned count = std::min<unsigned>(conjunction->n_clauses, 64);
      const uint64_t all = count == 64 ? UINT64_MAX : (uint64_t{1} << count) - 1;
      auto it = missing.try_emplace(conjunction->id, all).first;
      it->second &= ~(uint64_t{1} << (conjunction->clause & 63));
    }
  }
  std::vector<uint32_t> whole;
  for (const auto& [id, clauses] : missing) {
    if (clauses == 0) whole.push_back(id);
  }
  return whole;
}

}  // namespace sluice
