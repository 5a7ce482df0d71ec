#include <array>
#include <cstdlib>
#include <string_view>

#include "kernels/unit.h"

namespace assay::kernels {
namespace {

struct Usable {
  std::array<const Unit*, 7> units{};
  std::size_t count = 0;
};

Usable find_usable() {
  Usable usable;
  for (const Unit* unit : {amx_int8_unit(), avx512_vnni_unit(), avx_vnni_unit(), avx2_unit(), neon_i8mm_unit(),
                           neon_dotprod_unit(), &scalar_unit()}) {
    if (unit != nullptr) usable.units[usable.count++] = unit;
  }
  return usable;
}

const Usable& usable() {
  static const Usable kFound = find_usable();
  return kFound;
}

const Unit& choose() {
  const char* const wanted = std::getenv("ASSAY_KERNEL_UNIT");
  for (const Unit* unit : usable_units()) {
    if (wanted != nullptr && std::string_view(wanted) == unit->name) return *unit;
  }
  return *usable_units().front();
}

}  // namespace

std::span<const Unit* const> usable_units() { return std::span(usable().units).first(usable().count); }

const Unit& chosen_unit() {
  static const Unit& unit = choose();
  return unit;
}

}  // namespace assay::kernels
