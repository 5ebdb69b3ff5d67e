#include "utilities/vsctl/suggest.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::vsctl {
namespace {

char Fold(char c) {
  if (c >= 'A' && c <= 'Z') return static_cast<char>(c - 'A' + 'a');
  return c == '-' ? '_' : c;
}

// Optimal string alignment distance.
size_t Distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before_last(b.size() + 1);
  std::vector<size_t> last(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const bool same = Fold(a[i - 1]) == Fold(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && Fold(a[i - 1]) == Fold(b[j - 2]) && Fold(a[i - 2]) == Fold(b[j - 1])) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
    before_last.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

}  // namespace

std::string ClosestWord(std::string_view word, const std::vector<std::string>& candidates) {
  size_t best = std::max<size_t>(1, word.size() / 4) + 1;
  std::string closest;
  for (const std::string& candidate : candidates) {
    if (const size_t distance = Distance(word, candidate); distance < best) {
      best = distance;
      closest = candidate;
    }
  }
  return closest;
}

std::string DidYouMean(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string closest = ClosestWord(word, candidates);
  return closest.empty() ? "" : fmt::format("; did you mean \"{}\"?", closest);
}

}  // namespace sluice::vsctl
