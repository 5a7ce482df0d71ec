#include "cli/pack_files.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <regex>
#include <set>

#include "base/utf8.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRecordEnding = ".assay.json";
constexpr const char* kSnapshotEnding = ".assay-prefix";
constexpr std::size_t kNameBytesMax = 255;

Error missing(const std::string& path, const std::string& field, const std::string& what = "cannot be read") {
  return {ErrorCode::kNotFound, "'" + path + "' " + what, field};
}

Result<PackFile> file_at(const fs::path& path, const std::string& folder, const std::string& field) {
  std::error_code failure;
  PackFile file{.name = folder + path.filename().string(), .path = path.string(), .bytes = 0};
  if (!fs::is_regular_file(path, failure)) return missing(path.string(), field, "is no file, or cannot be read");
  file.bytes = fs::file_size(path, failure);
  if (failure || !std::ifstream(path, std::ios::binary)) return missing(path.string(), field);
  if (file.name.size() > kNameBytesMax || first_invalid_utf8(file.name).has_value())
    return invalid_argument(field, "'" + file.name + "': a name in the archive is UTF-8 of at most " +
                                       std::to_string(kNameBytesMax) + " bytes");
  return file;
}

Status check_gguf(const PackFile& file) {
  char magic[4] = {};
  std::ifstream(file.path, std::ios::binary).read(magic, sizeof magic);
  if (std::string_view(magic, sizeof magic) == "GGUF") return Status();
  return invalid_argument("MODEL", "'" + file.path + "' is no GGUF file");
}

// All shards of the model that `model` is one of, the first one first; just `model` when it is whole.
Result<std::vector<fs::path>> shards(const fs::path& model) {
  static const std::regex kShard("(.*)-(\\d{5})-of-(\\d{5})\\.gguf");
  const std::string name = model.filename().string();
  std::smatch match;
  if (!std::regex_match(name, match, kShard)) return std::vector<fs::path>{model};
  const int count = std::stoi(match[3]);
  if (count < 1 || std::stoi(match[2]) < 1 || std::stoi(match[2]) > count)
    return invalid_argument("MODEL", "'" + name + "' counts its shards wrongly");
  std::vector<fs::path> out;
  for (int i = 1; i <= count; ++i) {
    const std::string digits = std::to_string(i);
    out.push_back(model.parent_path() / (match[1].str() + "-" + std::string(5 - digits.size(), '0') + digits + "-of-" +
                                         match[3].str() + ".gguf"));
    std::error_code failure;
    if (!fs::exists(out.back(), failure))
      return missing(out.back().string(), "MODEL", "is missing: shard " + digits + " of " + std::to_string(count));
  }
  return out;
}

Status add_model(const std::string& model, PackList& list) {
  const Result<std::vector<fs::path>> paths = shards(model);
  if (!paths.ok()) return paths.error();
  for (const fs::path& path : *paths) {
    Result<PackFile> file = file_at(path, "", "MODEL");
    if (!file.ok()) return file.error();
    if (const Status gguf = check_gguf(*file); !gguf.ok()) return gguf;
    list.files.push_back(std::move(*file));
  }
  list.model = list.files.front().name;
  const fs::path record = paths->front().string() + kRecordEnding;
  std::error_code failure;
  if (!fs::exists(record, failure)) return Status();
  Result<PackFile> file = file_at(record, "", "MODEL");
  if (!file.ok()) return file.error();
  list.files.push_back(std::move(*file));
  return Status();
}

Status add_snapshots(const std::string& folder, PackList& list) {
  std::error_code failure;
  fs::directory_iterator entries(folder, failure);
  if (failure) return missing(folder, "--snapshots", "is no folder, or cannot be listed: " + failure.message());
  std::vector<fs::path> paths;
  for (; entries != fs::directory_iterator(); entries.increment(failure)) {
    if (entries->path().extension() == kSnapshotEnding) paths.push_back(entries->path());
  }
  if (failure) return missing(folder, "--snapshots", "cannot be listed: " + failure.message());
  if (paths.empty()) return invalid_argument("--snapshots", "'" + folder + "' holds no *" + kSnapshotEnding + " file");
  std::sort(paths.begin(), paths.end());
  for (const fs::path& path : paths) {
    Result<PackFile> file = file_at(path, "snapshots/", "--snapshots");
    if (!file.ok()) return file.error();
    list.files.push_back(std::move(*file));
  }
  return Status();
}

}  // namespace

Result<PackList> pack_list(const PackSources& sources) {
  PackList list;
  if (const Status added = add_model(sources.model, list); !added.ok()) return added.error();
  std::vector<PackFile> others;
  for (const std::string& other : sources.others) {
    Result<PackFile> file = file_at(other, "", "--with");
    if (!file.ok()) return file.error();
    others.push_back(std::move(*file));
  }
  std::sort(others.begin(), others.end(), [](const PackFile& a, const PackFile& b) { return a.name < b.name; });
  list.files.insert(list.files.end(), others.begin(), others.end());
  if (!sources.snapshots.empty()) {
    if (const Status added = add_snapshots(sources.snapshots, list); !added.ok()) return added.error();
  }
  std::set<std::string> seen = {"manifest.json"};
  for (const PackFile& file : list.files) {
    if (!seen.insert(file.name).second)
      return invalid_argument("", "two files would be '" + file.name + "' in the archive");
  }
  return list;
}

}  // namespace assay::cli
