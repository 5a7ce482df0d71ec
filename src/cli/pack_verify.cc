#include "cli/pack_verify.h"

#include <array>
#include <map>
#include <memory>
#include <optional>

#include "base/sha256.h"
#include "cli/gzip_file.h"
#include "cli/tar_format.h"

namespace assay::cli {
namespace {

constexpr std::uint64_t kManifestBytesMax = 16 << 20;

struct Found {
  std::map<std::string, ManifestFile> files;
  std::vector<std::string> findings;
  std::optional<std::string> manifest;  // its text
};

// Hashes the reader's present file; of the manifest the text is kept too.
Status read_file(TarReader& reader, const TarEntry& entry, const std::atomic<bool>& stop, Found& found) {
  const bool is_manifest = entry.name == kManifestName;
  if (is_manifest && entry.bytes > kManifestBytesMax)
    return Error{ErrorCode::kIo, "manifest.json has more than 16 MiB", ""};
  Sha256 sum;
  std::string text;
  std::array<char, 65536> piece;
  for (;;) {
    if (stop) return Error{ErrorCode::kCancelled, "stopped", ""};
    const Result<std::size_t> got = reader.read(piece.data(), piece.size());
    if (!got.ok()) return got.error();
    if (*got == 0) break;
    const std::string_view bytes(piece.data(), *got);
    sum.update(bytes);
    if (is_manifest) text += bytes;
  }
  if (is_manifest && !found.manifest) {
    found.manifest = std::move(text);
    return Status();
  }
  const ManifestFile file{.name = entry.name, .bytes = entry.bytes, .sha256 = sum.hex()};
  if (is_manifest || !found.files.emplace(entry.name, file).second)
    found.findings.push_back("'" + entry.name + "' is in the archive twice");
  return Status();
}

// What follows the tar's end mark still belongs to the gzip file, whose checksum stands at its end.
Status read_to_end(GzipReader& gzip) {
  std::array<char, 4096> piece;
  for (;;) {
    const Result<std::size_t> got = gzip.read(piece.data(), piece.size());
    if (!got.ok()) return got.error();
    if (*got == 0) return Status();
  }
}

void compare(const Manifest& manifest, Found& found) {
  for (const ManifestFile& wanted : manifest.files) {
    const auto there = found.files.find(wanted.name);
    if (there == found.files.end()) {
      found.findings.push_back("'" + wanted.name + "' is in the manifest and not in the archive");
      continue;
    }
    if (there->second.bytes != wanted.bytes) {
      found.findings.push_back("'" + wanted.name + "' has " + std::to_string(there->second.bytes) + " bytes, not " +
                               std::to_string(wanted.bytes));
    } else if (there->second.sha256 != wanted.sha256) {
      found.findings.push_back("'" + wanted.name + "' has the sha256 " + there->second.sha256 + ", not " +
                               wanted.sha256);
    }
    found.files.erase(there);
  }
  for (const auto& [name, file] : found.files)
    found.findings.push_back("'" + name + "' is in the archive and not in the manifest");
}

}  // namespace

Result<PackVerdict> verify_pack(const std::string& path, const std::atomic<bool>& stop) {
  const Result<std::unique_ptr<GzipReader>> gzip = GzipReader::open(path);
  if (!gzip.ok()) return gzip.error();
  TarReader reader([&gzip](char* bytes, std::size_t size) { return (*gzip)->read(bytes, size); });
  Found found;
  for (;;) {
    const Result<std::optional<TarEntry>> entry = reader.next();
    if (!entry.ok()) return entry.error();
    if (!entry->has_value()) break;
    if (const Status status = read_file(reader, **entry, stop, found); !status.ok()) return status.error();
  }
  if (const Status status = read_to_end(**gzip); !status.ok()) return status.error();
  if (!found.manifest)
    return Error{ErrorCode::kIo, "'" + path + "' holds no manifest.json: `assay pack` did not make it", ""};
  Result<Manifest> manifest = parse_manifest(*found.manifest);
  if (!manifest.ok()) return manifest.error();
  compare(*manifest, found);
  return PackVerdict{.manifest = std::move(*manifest), .findings = std::move(found.findings)};
}

}  // namespace assay::cli
