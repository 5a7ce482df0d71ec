#pragma once
// Memory that holds packed weights: this process's own, or a file that is mapped and shared.

#include <cstddef>
#include <memory>
#include <span>

namespace assay::kernels {

// Neither copyable nor movable; the memory goes with it.
class PackedRegion {
 public:
  // Zeroed, in huge pages where the system gives them. Null when there is none.
  static std::unique_ptr<PackedRegion> allocate(std::size_t bytes);
  // `bytes` of an open file from `offset` on (a multiple of the page size), for reading, shared with everybody who maps
  // them. The descriptor may be closed afterwards. Null when it cannot be mapped. REQUIRES: the file has them, and
  // nobody shortens it while this lives.
  static std::unique_ptr<PackedRegion> map(int descriptor, std::size_t offset, std::size_t bytes);
  ~PackedRegion();
  PackedRegion(const PackedRegion&) = delete;
  PackedRegion& operator=(const PackedRegion&) = delete;

  // REQUIRES for writing: allocate() made it.
  std::byte* data() const { return data_; }
  std::span<const std::byte> bytes() const { return {data_, bytes_}; }

 private:
  PackedRegion(void* mapping, std::size_t mapped_bytes, std::byte* data, std::size_t bytes)
      : mapping_(mapping), mapped_bytes_(mapped_bytes), data_(data), bytes_(bytes) {}

  void* const mapping_;
  const std::size_t mapped_bytes_;
  std::byte* const data_;  // at a multiple of 64 bytes
  const std::size_t bytes_;
};

}  // namespace assay::kernels
