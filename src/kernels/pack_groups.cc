#include "kernels/pack_groups.h"

#include "kernels/pack_groups_rules.h"

namespace assay::kernels {

void pack_groups_plain(const PackJob& job) { pack_groups_here(job); }

PackGroups chosen_pack_groups() {
  static const PackGroups kChosen = [] {
    if (const PackGroups found = avx512_pack_groups(); found != nullptr) return found;
    if (const PackGroups found = avx2_pack_groups(); found != nullptr) return found;
    return static_cast<PackGroups>(pack_groups_plain);
  }();
  return kChosen;
}

}  // namespace assay::kernels
