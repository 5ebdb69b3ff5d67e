#include "datapath/policing.h"

#include <algorithm>

namespace sluice {
namespace {

// More than any port carries; keeps products in range.
constexpr uint64_t kMaxKilo = 1'000'000'000'000;

uint64_t Units(uint64_t kilo) { return std::min(kilo, kMaxKilo) * 1000; }

}  // namespace

Policer::Policer(const PolicingRates& rates)
    : bits_(Units(rates.rate_kbps), Units(rates.burst_kb != 0 ? rates.burst_kb : PolicingRates::kDefaultBurstKb)),
      packets_(Units(rates.rate_kpkts),
               Units(rates.burst_kpkts != 0 ? rates.burst_kpkts : PolicingRates::kDefaultBurstKpkts)) {}

}  // namespace sluice
