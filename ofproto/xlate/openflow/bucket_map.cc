#include "ofproto/xlate/openflow/bucket_map.h"

#include <algorithm>
#include <bit>

namespace sluice {
namespace {

constexpr size_t kLeast = 16, kMost = 256;

}  // namespace

std::vector<uint16_t> MapHashesToBuckets(absl::Span<const GroupBucket> buckets) {
  uint64_t total = 0, least = UINT64_MAX;
  for (const GroupBucket& bucket : buckets) {
    total += bucket.weight;
    if (bucket.weight > 0) least = std::min<uint64_t>(least, bucket.weight);
  }
  if (total == 0) return {};
  // So that the lightest gets one.
  const uint64_t wanted = std::bit_ceil((total + least - 1) / least);
  const size_t size = std::clamp<uint64_t>(wanted, kLeast, kMost);
  std::vector<uint16_t> map;
  map.reserve(size);
  std::vector<uint32_t> divisors(buckets.size(), 1);
  while (map.size() < size) {
    // weight / divisor is greatest; compared without dividing. Of equals the first.
    size_t winner = buckets.size();
    for (size_t i = 0; i < buckets.size(); ++i) {
      if (buckets[i].weight == 0) continue;
      if (winner == buckets.size() ||
          uint64_t{buckets[i].weight} * divisors[winner] > uint64_t{buckets[winner].weight} * divisors[i]) {
        winner = i;
      }
    }
    divisors[winner] += 2;
    map.push_back(static_cast<uint16_t>(winner));
  }
  return map;
}

}  // namespace sluice
