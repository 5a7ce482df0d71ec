#include "service/check_file.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/sha256.h"

namespace assay::service {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int kFormat = 4;

std::int64_t modified_ns(const std::string& path) {
  std::error_code failure;
  const auto time = fs::last_write_time(path, failure);
  if (failure) return 0;
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

std::string cache_folder() {
  if (const char* folder = std::getenv("XDG_CACHE_HOME"); folder != nullptr && *folder != '\0')
    return std::string(folder) + "/assay";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0')
    return std::string(home) + "/.cache/assay";
  return {};
}

Json to_json(const CheckRecord& record) {
  Json scores = Json::array();
  for (const CheckScore& score : record.scores) {
    scores.push_back({{"readout", readout_name(score.readout)},
                      {"type", static_cast<int>(score.type)},
                      {"right", score.right},
                      {"rows", score.rows},
                      {"chance", score.chance},
                      {"p_value", score.p_value},
                      {"reliable", score.reliable}});
  }
  return {{"format", kFormat},
          {"model_sha256", record.model_sha256},
          {"model_bytes", record.model_bytes},
          {"model_modified_ns", record.model_modified_ns},
          {"settings", record.settings},
          {"start_check_machine", record.start_check_machine},
          {"extra_buffers", record.extra_buffers},
          {"bits_key", record.bits_key},
          {"bits_same", record.bits_same},
          {"rows_min", record.rules.rows_min},
          {"rows_multiple", record.rules.rows_multiple},
          {"outputs_min", record.rules.outputs_min},
          {"outputs_multiple", record.rules.outputs_multiple},
          {"short_decodes", record.rules.short_decodes},
          {"bits_note", record.bits_note},
          {"option_head", record.option_head},
          {"has_readout", record.has_readout},
          {"readout", readout_name(record.readout)},
          {"scores", scores}};
}

CheckRecord from_json(const Json& json) {
  CheckRecord record;
  record.model_sha256 = json.at("model_sha256");
  record.model_bytes = json.at("model_bytes");
  record.model_modified_ns = json.at("model_modified_ns");
  record.settings = json.at("settings");
  record.start_check_machine = json.at("start_check_machine");
  record.extra_buffers = json.at("extra_buffers");
  record.bits_key = json.at("bits_key");
  record.bits_same = json.at("bits_same");
  record.rules.rows_min = json.at("rows_min");
  record.rules.rows_multiple = json.at("rows_multiple");
  record.rules.outputs_min = json.at("outputs_min");
  record.rules.outputs_multiple = json.at("outputs_multiple");
  record.rules.short_decodes = json.at("short_decodes");
  record.bits_note = json.at("bits_note");
  record.option_head = json.at("option_head");
  record.has_readout = json.at("has_readout");
  record.readout = readout_from_name(json.at("readout").get<std::string>()).value_or(Readout::kLetters);
  for (const Json& score : json.at("scores")) {
    record.scores.push_back(
        {.readout = readout_from_name(score.at("readout").get<std::string>()).value_or(Readout::kLetters),
         .type = static_cast<QuestionType>(score.at("type").get<int>()),
         .right = score.at("right"),
         .rows = score.at("rows"),
         .chance = score.at("chance"),
         .p_value = score.at("p_value"),
         .reliable = score.at("reliable")});
  }
  return record;
}

// A damaged file is as good as none.
std::optional<CheckRecord> read_one(const std::string& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  try {
    const Json json = Json::parse(file);
    if (json.at("format") != kFormat) return std::nullopt;
    return from_json(json);
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace

std::vector<std::string> check_file_paths(const std::string& model_path, const std::string& check_dir) {
  const std::string name = fs::path(model_path).filename().string();
  if (!check_dir.empty()) return {check_dir + "/" + name + ".assay.json"};
  std::vector<std::string> paths = {model_path + ".assay.json"};
  // Two models of one name in two folders must not share a cache entry.
  const std::string folder = cache_folder();
  if (!folder.empty())
    paths.push_back(folder + "/" + name + "." + sha256_hex(fs::absolute(model_path).string()).substr(0, 12) +
                    ".assay.json");
  return paths;
}

std::optional<CheckRecord> read_check_file(const std::string& model_path, const std::string& check_dir,
                                           const std::string& settings) {
  std::error_code failure;
  const std::uint64_t bytes = fs::file_size(model_path, failure);
  if (failure) return std::nullopt;
  std::string sha256;
  for (const std::string& path : check_file_paths(model_path, check_dir)) {
    std::optional<CheckRecord> record = read_one(path);
    if (!record || record->settings != settings || record->model_bytes != bytes) continue;
    if (record->model_modified_ns != modified_ns(model_path)) {
      if (sha256.empty()) sha256 = sha256_hex_of_file(model_path);
      if (sha256 != record->model_sha256) continue;
      record->model_modified_ns = modified_ns(model_path);
      write_check_file(model_path, check_dir, *record);  // so that the next start need not hash again
    }
    return record;
  }
  return std::nullopt;
}

std::optional<std::string> write_check_file(const std::string& model_path, const std::string& check_dir,
                                            const CheckRecord& record) {
  const std::string text = to_json(record).dump(2) + "\n";
  for (const std::string& path : check_file_paths(model_path, check_dir)) {
    std::error_code failure;
    fs::create_directories(fs::path(path).parent_path(), failure);
    const std::string unfinished = path + "." + std::to_string(getpid());
    {
      std::ofstream file(unfinished, std::ios::trunc);
      file << text;
      file.flush();
      if (!file) {
        fs::remove(unfinished, failure);
        continue;
      }
    }
    fs::rename(unfinished, path, failure);
    if (!failure) return path;
    fs::remove(unfinished, failure);
  }
  return std::nullopt;
}

CheckRecord new_check_record(const std::string& model_path, const std::string& settings) {
  std::error_code failure;
  CheckRecord record;
  record.model_sha256 = sha256_hex_of_file(model_path);
  record.model_bytes = fs::file_size(model_path, failure);
  record.model_modified_ns = modified_ns(model_path);
  record.settings = settings;
  return record;
}

}  // namespace assay::service
