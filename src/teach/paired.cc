#include "teach/paired.h"

#include <algorithm>
#include <cmath>

namespace assay::teach {

double log_evidence_of_better(std::uint64_t wins, std::uint64_t losses) {
  const auto n = static_cast<double>(wins) + static_cast<double>(losses);
  double log_choose = 0;  // ln C(n + 1, j), j = 0
  double log_all = 0;     // ln of the sum so far
  double log_chosen = 0;  // ln C(n, wins), one factor after another
  for (std::uint64_t step = 1; step <= wins; step++) {
    const auto j = static_cast<double>(step);
    log_choose += std::log((n + 2 - j) / j);
    log_chosen += std::log((n + 1 - j) / j);
    const double larger = std::max(log_all, log_choose);
    log_all = larger + std::log1p(std::exp(std::min(log_all, log_choose) - larger));
  }
  return log_all - std::log(n + 1) - log_chosen;
}

}  // namespace assay::teach
