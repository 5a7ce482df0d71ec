#include "kernels/packed_region.h"

#include <sys/mman.h>

#include <cstdint>
#include <new>

namespace assay::kernels {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

}  // namespace

std::unique_ptr<PackedRegion> PackedRegion::allocate(std::size_t bytes) {
  if (bytes == 0 || bytes > SIZE_MAX - kHugePage) return nullptr;
  const std::size_t mapped = bytes + kHugePage;  // so that it can begin where a huge page does
  void* const mapping = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) return nullptr;
  const auto address = reinterpret_cast<std::uintptr_t>(mapping);
  auto* const data = static_cast<std::byte*>(mapping) + (kHugePage - address % kHugePage) % kHugePage;
  madvise(data, bytes, MADV_HUGEPAGE);
  return std::unique_ptr<PackedRegion>(new PackedRegion(mapping, mapped, data, bytes));
}

std::unique_ptr<PackedRegion> PackedRegion::map(int descriptor, std::size_t offset, std::size_t bytes) {
  if (bytes == 0) return nullptr;
  void* const mapping = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, descriptor, static_cast<off_t>(offset));
  if (mapping == MAP_FAILED) return nullptr;
  madvise(mapping, bytes, MADV_HUGEPAGE);
  return std::unique_ptr<PackedRegion>(new PackedRegion(mapping, bytes, static_cast<std::byte*>(mapping), bytes));
}

PackedRegion::~PackedRegion() { munmap(mapping_, mapped_bytes_); }

}  // namespace assay::kernels
