#include "cli/version_command.h"

#include <ostream>
#include <utility>

#include "cli/json_fields.h"

namespace assay::cli {
namespace {

std::string joined(const std::vector<std::string>& items) {
  std::string out;
  for (const std::string& item : items) out += (out.empty() ? "" : ", ") + item;
  return out.empty() ? "none" : out;
}

Value texts(const std::vector<std::string>& items) {
  Value::Array out;
  for (const std::string& item : items) out.push_back(Value(item));
  return Value(std::move(out));
}

}  // namespace

CommandSpec version_command(VersionFlags& flags) {
  CommandSpec spec{
      .name = "version", .summary = "Print versions, compiler and CPU features", .examples = "", .options = {}};
  spec.options.push_back(as_request_only(switch_option("json", "Print one JSON object", &flags.json)));
  return spec;
}

Value build_value(const BuildReport& build) {
  return Value(Value::Object{{"version", Value(build.version)},
                             {"llama_version", Value(build.llama_version)},
                             {"compiler", Value(build.compiler)},
                             {"build_type", Value(build.build_type)},
                             {"cpu_features", texts(build.cpu_features)},
                             {"devices", texts(build.devices)},
                             {"cores", int_value(build.cores)},
                             {"memory_bytes", Value(Value::Integer{std::to_string(build.memory_bytes)})},
                             {"memory_free_bytes", Value(Value::Integer{std::to_string(build.memory_free_bytes)})}});
}

int run_version(const VersionFlags& flags, const BuildReport& build, Streams& streams) {
  if (flags.json) {
    streams.out << to_json_text(build_value(build)) << "\n" << std::flush;
    return kExitOk;
  }
  streams.out << "assay " << build.version << "\n"
              << "llama.cpp " << build.llama_version << "\n"
              << "compiler " << build.compiler << ", " << build.build_type << "\n"
              << "CPU features " << joined(build.cpu_features) << "\n"
              << "devices " << joined(build.devices) << "\n"
              << std::flush;
  return kExitOk;
}

}  // namespace assay::cli
