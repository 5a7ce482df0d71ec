#include "cli/pack_manifest.h"

#include <charconv>
#include <utility>

#include "assay/value.h"
#include "server/wires/wire_json.h"

namespace assay::cli {
namespace {

constexpr const char* kFormat = "assay-model-archive-1";

Error wrong(const std::string& what) { return {ErrorCode::kIo, "manifest.json: " + what, ""}; }

Result<std::string> text_member(const Value& object, const char* key) {
  const Value* const value = object.find(key);
  if (value == nullptr || !value->is_string()) return wrong("'" + std::string(key) + "' is missing or no string");
  return *value->string();
}

Result<ManifestFile> file_entry(const Value& entry) {
  const Result<std::string> name = text_member(entry, "name");
  if (!name.ok()) return name.error();
  const Result<std::string> sha256 = text_member(entry, "sha256");
  if (!sha256.ok()) return sha256.error();
  if (sha256->size() != 64 || sha256->find_first_not_of("0123456789abcdef") != std::string::npos)
    return wrong("the sha256 of '" + *name + "' is not 64 hex digits");
  const Value* const bytes = entry.find("bytes");
  ManifestFile file{.name = *name, .bytes = 0, .sha256 = *sha256};
  const std::string digits = bytes != nullptr && bytes->integer() != nullptr ? bytes->integer()->digits : "";
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), file.bytes);
  if (digits.empty() || parsed.ec != std::errc() || parsed.ptr != digits.data() + digits.size())
    return wrong("the bytes of '" + *name + "' are no whole number");
  return file;
}

}  // namespace

std::string manifest_text(const Manifest& manifest) {
  Value::Array files;
  for (const ManifestFile& file : manifest.files) {
    files.push_back(Value(Value::Object{
        {"name", Value(file.name)}, {"bytes", server::size_value(file.bytes)}, {"sha256", Value(file.sha256)}}));
  }
  return to_json_text(Value(Value::Object{{"format", Value(kFormat)},
                                          {"assay", Value(manifest.assay)},
                                          {"model", Value(manifest.model)},
                                          {"files", Value(std::move(files))}})) +
         "\n";
}

Result<Manifest> parse_manifest(std::string_view text) {
  const Result<Value> value = server::parse_json(text);
  if (!value.ok()) return wrong(value.error().message);
  const Result<std::string> format = text_member(*value, "format");
  if (!format.ok()) return format.error();
  if (*format != kFormat) return wrong("the format is '" + *format + "', not '" + kFormat + "'");
  Manifest manifest;
  Result<std::string> assay = text_member(*value, "assay");
  if (!assay.ok()) return assay.error();
  manifest.assay = std::move(*assay);
  Result<std::string> model = text_member(*value, "model");
  if (!model.ok()) return model.error();
  manifest.model = std::move(*model);
  const Value* const files = value->find("files");
  if (files == nullptr || !files->is_array()) return wrong("'files' is missing or no array");
  for (const Value& entry : *files->array()) {
    Result<ManifestFile> file = file_entry(entry);
    if (!file.ok()) return file.error();
    manifest.files.push_back(std::move(*file));
  }
  return manifest;
}

}  // namespace assay::cli
