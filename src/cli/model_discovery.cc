// The choice is pure; the disk is read in list_model_files() alone.
#include "cli/model_discovery.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

namespace assay::cli {
namespace {

constexpr std::size_t kShownMax = 8;

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return out;
}

std::string_view name_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }
std::size_t depth_of(std::string_view path) {
  return static_cast<std::size_t>(std::count(path.begin(), path.end(), '/'));
}

bool is_projector(std::string_view path) { return lower(name_of(path)).find("mmproj") != std::string::npos; }

// Something that goes with a model.
bool is_companion(std::string_view path) {
  const std::string name = lower(name_of(path));
  constexpr std::array<std::string_view, 4> kWords = {"lora", "adapter", "draft", "ggml-vocab"};
  return std::any_of(kWords.begin(), kWords.end(),
                     [&name](std::string_view word) { return name.find(word) != std::string::npos; });
}

// "dir/name", 2 and 5 of "dir/name-00002-of-00005.gguf".
struct Shard {
  std::string stem;
  int index = 0;
  int count = 0;
};

std::optional<int> five_digits(std::string_view text) {
  int number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    number = number * 10 + (c - '0');
  }
  return number;
}

std::optional<Shard> shard_of(std::string_view path) {
  constexpr std::string_view kShape = "-00001-of-00001.gguf";
  if (path.size() <= kShape.size()) return std::nullopt;
  const std::string_view tail = path.substr(path.size() - kShape.size());
  if (tail.front() != '-' || tail.substr(6, 4) != "-of-") return std::nullopt;
  const std::optional<int> index = five_digits(tail.substr(1, 5));
  const std::optional<int> count = five_digits(tail.substr(10, 5));
  if (!index || !count || *index < 1 || *count < 1) return std::nullopt;
  return Shard{std::string(path.substr(0, path.size() - kShape.size())), *index, *count};
}

std::string shard_path(const Shard& shard, int index) {
  const auto digits = [](int number) {
    std::string text = std::to_string(number);
    return std::string(5 - std::min<std::size_t>(text.size(), 5), '0') + text;
  };
  return shard.stem + "-" + digits(index) + "-of-" + digits(shard.count) + ".gguf";
}

std::string listed(const std::vector<std::string>& paths) {
  std::string out;
  for (std::size_t i = 0; i < paths.size() && i < kShownMax; ++i) out += (i == 0 ? "" : ", ") + paths[i];
  return paths.size() > kShownMax ? out + ", ..." : out;
}

// A model with its shards counted as one: the path to load, and the shards that are there.
struct Candidate {
  std::string path;
  std::vector<int> shards;
};

std::vector<Candidate> candidates_of(const std::vector<std::string>& paths) {
  std::vector<Candidate> out;
  std::map<std::string, std::size_t> places;  // of split models, by the path of the first shard
  for (const std::string& path : paths) {
    const std::optional<Shard> shard = shard_of(path);
    if (!shard.has_value()) {
      out.push_back({path, {}});
      continue;
    }
    const std::string first = shard_path(*shard, 1);
    const auto [place, is_new] = places.emplace(first, out.size());
    if (is_new) out.push_back({first, {}});
    out[place->second].shards.push_back(shard->index);
  }
  return out;
}

// The first shard that is not there.
std::optional<std::string> missing_shard(const Candidate& candidate) {
  const std::optional<Shard> shard = shard_of(candidate.path);
  if (!shard.has_value()) return std::nullopt;
  for (int index = 1; index <= shard->count; ++index) {
    const bool is_there = std::find(candidate.shards.begin(), candidate.shards.end(), index) != candidate.shards.end();
    if (!is_there) return shard_path(*shard, index);
  }
  return std::nullopt;
}

struct Sorted {
  std::vector<std::string> models;
  std::vector<std::string> companions;
  std::vector<std::string> projectors;
  std::vector<std::string> other_case;
};

Sorted sorted_by_kind(const std::vector<std::string>& files) {
  Sorted out;
  for (const std::string& path : files) {
    if (depth_of(path) > 1) continue;
    if (!path.ends_with(".gguf")) {
      if (lower(path).ends_with(".gguf")) out.other_case.push_back(path);
      continue;
    }
    if (is_projector(path)) {
      out.projectors.push_back(path);
    } else {
      (is_companion(path) ? out.companions : out.models).push_back(path);
    }
  }
  return out;
}

std::string none_text(const Sorted& sorted) {
  std::string text = "there is no *.gguf in the model folder or in a folder directly in it";
  if (!sorted.projectors.empty()) text += "; a projector alone (" + sorted.projectors.front() + ") is no model";
  if (!sorted.other_case.empty()) text += "; " + sorted.other_case.front() + " has to end in .gguf";
  return text;
}

}  // namespace

Result<ModelChoice> choose_model(std::vector<std::string> files, ModelRule rule) {
  std::sort(files.begin(), files.end(), [](const std::string& a, const std::string& b) {
    return std::make_tuple(depth_of(a), std::string_view(a)) < std::make_tuple(depth_of(b), std::string_view(b));
  });
  const Sorted sorted = sorted_by_kind(files);
  const std::vector<std::string>& paths = sorted.models.empty() ? sorted.companions : sorted.models;
  const std::vector<Candidate> candidates = candidates_of(paths);
  if (candidates.empty()) return Error{ErrorCode::kNotFound, none_text(sorted), ""};
  std::vector<std::string> names;
  for (const Candidate& candidate : candidates) names.push_back(candidate.path);
  if (rule == ModelRule::kOnlyOne && candidates.size() > 1) {
    return invalid_argument("", "the model folder holds " + std::to_string(candidates.size()) +
                                    " models where exactly one is expected: " + listed(names));
  }
  const Candidate& chosen = candidates.front();
  if (const std::optional<std::string> missing = missing_shard(chosen); missing.has_value()) {
    return invalid_argument("", "a shard of the model is missing: " + *missing);
  }

  ModelChoice choice{.model = chosen.path, .mmproj = "", .warnings = {}};
  if (!sorted.projectors.empty()) choice.mmproj = sorted.projectors.front();
  if (candidates.size() > 1) {
    choice.warnings.push_back("the model folder holds " + std::to_string(candidates.size()) + " models (" +
                              listed(names) + "); " + chosen.path + " is taken, the first of them");
  }
  if (sorted.models.empty()) {
    choice.warnings.push_back(chosen.path + " is taken as the model although its name says that it goes with one");
  }
  for (const std::string& path : sorted.other_case) {
    choice.warnings.push_back(path + " is passed over: a model's name ends in .gguf, in lower case");
  }
  return choice;
}

std::vector<std::string> list_model_files(const std::string& folder) {
  namespace fs = std::filesystem;
  std::vector<std::string> out;
  std::error_code failed;
  const auto add_files = [&out](const fs::path& from, const std::string& before) {
    std::error_code wrong;
    for (fs::directory_iterator entry(from, wrong), end; !wrong && entry != end; entry.increment(wrong)) {
      std::error_code unknown;
      if (entry->is_regular_file(unknown)) out.push_back(before + entry->path().filename().string());
    }
  };
  add_files(folder, "");
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed)) {
    std::error_code unknown;
    if (!entry->is_directory(unknown)) continue;
    const std::string name = entry->path().filename().string();
    add_files(entry->path(), name + "/");
  }
  return out;
}

}  // namespace assay::cli
