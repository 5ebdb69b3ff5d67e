// "Did you mean": the known word closest to a mistyped one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sluice::vsctl {

// The candidate that differs from `word` by the fewest insertions, deletions, replacements and swaps of neighbours,
// when that is few enough for a typing mistake (one in four characters, at least one); "" otherwise. Case and '-'
// against '_' do not count.
std::string ClosestWord(std::string_view word, const std::vector<std::string>& candidates);

// "; did you mean \"tag\"?", or "".
std::string DidYouMean(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace sluice::vsctl
