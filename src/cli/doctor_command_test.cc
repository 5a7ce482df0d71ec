#include "cli/doctor_command.h"

#include <filesystem>
#include <sstream>

#include <gtest/gtest.h>

#include "cli/testing/temp_dir.h"
#include "cli/version_command.h"
#include "server/wires/wire_json.h"

namespace assay::cli {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

MachineFacts sound_facts() {
  MachineFacts facts;
  facts.build.cpu_features = {"AVX2", "FMA"};
  facts.build.cores = 4;
  facts.build.memory_free_bytes = 8 * kGiB;
  facts.is_x86 = true;
  facts.cpu_flags = {"avx2", "fma"};
  facts.model_path = "m.gguf";
  facts.model_exists = facts.model_readable = facts.model_is_gguf = facts.model_folder_writable = true;
  facts.model_bytes = kGiB;
  facts.cache_folder = "cache";
  facts.cache_folder_writable = true;
  facts.disk_free_bytes = kGiB;
  return facts;
}

// The findings that are not good, one a line: "fatal: what / fix".
std::string bad(const MachineFacts& facts) {
  std::string out;
  for (const Finding& finding : findings_of(facts)) {
    if (finding.level == FindingLevel::kGood) continue;
    EXPECT_FALSE(finding.fix.empty()) << finding.what;
    out += (finding.level == FindingLevel::kFatal ? "fatal: " : "warning: ") + finding.what + "\n";
  }
  return out;
}

TEST(Doctor, ASoundMachineHasNoFindings) { EXPECT_EQ(bad(sound_facts()), ""); }

TEST(Doctor, FindsModelFaults) {
  MachineFacts facts = sound_facts();
  facts.model_is_gguf = false;
  EXPECT_EQ(bad(facts), "fatal: model 'm.gguf' is no GGUF file\n");
  facts.model_readable = false;
  EXPECT_EQ(bad(facts), "fatal: model 'm.gguf' cannot be read\n");
  facts.model_exists = false;
  EXPECT_EQ(bad(facts), "fatal: model 'm.gguf' does not exist\n");
  facts.model_path = "";
  EXPECT_EQ(bad(facts), "warning: no model is named\n");
}

TEST(Doctor, FindsShortMemory) {
  MachineFacts facts = sound_facts();
  facts.memory_limit_bytes = 2 * kGiB;
  facts.memory_used_bytes = kGiB + kGiB / 2;
  EXPECT_EQ(bad(facts),
            "fatal: 512.0 MiB of memory free below this container's limit of 2.0 GiB, the model alone has 1.0 GiB\n");
  facts.memory_used_bytes = kGiB - 1024;
  EXPECT_EQ(bad(facts),
            "warning: 1.0 GiB of memory free below this container's limit of 2.0 GiB, which is tight for this model\n");
}

TEST(Doctor, FindsAnotherCpu) {
  MachineFacts facts = sound_facts();
  facts.cpu_flags = {"avx2"};
  EXPECT_EQ(bad(facts), "fatal: this program was built for another CPU: this one lacks FMA\n");
  facts.build.cpu_features = {};
  EXPECT_EQ(bad(facts), "warning: this CPU has AVX2, but this program does not use it\n");
  facts.cpu_flags = {"sse4_2"};
  EXPECT_EQ(bad(facts), "warning: this CPU has no AVX2: decisions will be very slow\n");
  facts.is_x86 = false;
  EXPECT_EQ(bad(facts), "");
}

TEST(Doctor, FindsThreadsThatDoNotFit) {
  MachineFacts facts = sound_facts();
  facts.threads_asked = 8;
  EXPECT_EQ(bad(facts), "warning: 8 threads on 4 cores slow each other down\n");
  facts.cpu_limit = 2;
  EXPECT_EQ(bad(facts), "warning: 8 threads on a container limit of 2.0 cores will be throttled\n");
  facts.threads_asked = 0;
  EXPECT_EQ(bad(facts), "warning: this container may use 2.0 of 4 cores\n");
  facts.threads_asked = 2;
  EXPECT_EQ(bad(facts), "");
}

TEST(Doctor, FindsFoldersDiskAndPort) {
  MachineFacts facts = sound_facts();
  facts.model_folder_writable = false;
  EXPECT_EQ(bad(facts), "");
  facts.cache_folder_writable = false;
  EXPECT_NE(bad(facts).find("neither the model's folder nor 'cache' is writable"), std::string::npos);
  facts = sound_facts();
  facts.disk_free_bytes = 1024;
  EXPECT_EQ(bad(facts), "warning: only 1.0 KiB of disk left for check results\n");
  facts = sound_facts();
  facts.port_free = false;
  EXPECT_EQ(bad(facts), "warning: port 8080 is in use\n");
}

TEST(Doctor, FindsAPackCacheThatCannotBeUsed) {
  MachineFacts facts = sound_facts();
  facts.pack_cache = "packs";
  facts.pack_cache_writable = true;
  facts.pack_cache_free_bytes = 2 * kGiB;
  EXPECT_EQ(bad(facts), "");
  facts.pack_cache_free_bytes = 2 * kGiB - 1;
  EXPECT_EQ(bad(facts), "warning: the pack cache 'packs' has only 2.0 GiB of disk left\n");
  facts.pack_cache_writable = false;
  EXPECT_EQ(bad(facts),
            "warning: the pack cache 'packs' cannot be written: what is not there already is packed at every start\n");
}

TEST(Doctor, ExitCodeIsOneForAFatalFinding) {
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
  Streams streams{.in = in, .out = out, .err = err};
  MachineFacts facts = sound_facts();
  EXPECT_EQ(run_doctor({}, facts, streams), 0);
  facts.model_exists = false;
  EXPECT_EQ(run_doctor({}, facts, streams), 1);
  EXPECT_NE(out.str().find("FATAL   model 'm.gguf' does not exist\n        fix: run tools/setup"), std::string::npos);
  DoctorFlags flags;
  flags.json = true;
  out.str("");
  EXPECT_EQ(run_doctor(flags, facts, streams), 1);
  EXPECT_EQ(*server::parse_json(out.str())->find("healthy")->boolean(), false);
}

TEST(MachineFactsTest, ReadsModelLimitsAndCpuFlags) {
  const TempDir dir;
  std::filesystem::create_directories(dir.path("cgroup/a/b"));
  dir.write("cgroup/a/memory.max", "1048576\n");
  dir.write("cgroup/a/memory.current", "4096\n");
  dir.write("cgroup/a/b/memory.max", "max\n");
  dir.write("cgroup/a/b/cpu.max", "150000 100000\n");
  dir.write("self", "0::/a/b\n");
  dir.write("cpuinfo", "processor : 0\nflags\t\t: fpu avx2 amx_int8\n");
  ModelFlags model;
  model.model = dir.write("m.gguf", "GGUF and more");
  const MachinePaths paths{.cpuinfo = dir.path("cpuinfo"),
                           .cgroup_of_process = dir.path("self"),
                           .cgroup_root = dir.path("cgroup"),
                           .cache_home = dir.path("cache")};
  const MachineFacts facts = read_machine_facts({}, model, 8080, paths);
  EXPECT_TRUE(facts.model_exists && facts.model_readable && facts.model_is_gguf && facts.model_folder_writable);
  EXPECT_EQ(facts.model_bytes, 13u);
  EXPECT_EQ(facts.memory_limit_bytes, 1048576u);
  EXPECT_EQ(facts.memory_used_bytes, 4096u);
  EXPECT_EQ(facts.cpu_limit, 1.5);
  EXPECT_EQ(facts.cpu_flags.count("amx_int8"), 1u);
  EXPECT_TRUE(facts.cache_folder_writable);
  EXPECT_GT(facts.disk_free_bytes, 0u);
}

TEST(Version, PrintsTextAndJson) {
  BuildReport build;
  build.version = "0.1.0";
  build.llama_version = "b1";
  build.cpu_features = {"AVX2", "FMA"};
  std::istringstream in;
  std::ostringstream out;
  Streams streams{.in = in, .out = out, .err = out};
  EXPECT_EQ(run_version({}, build, streams), 0);
  EXPECT_NE(out.str().find("assay 0.1.0\nllama.cpp b1\n"), std::string::npos);
  EXPECT_NE(out.str().find("CPU features AVX2, FMA\n"), std::string::npos);
  out.str("");
  EXPECT_EQ(run_version({.json = true}, build, streams), 0);
  EXPECT_EQ(server::parse_json(out.str())->find("cpu_features")->array()->size(), 2u);
}

}  // namespace
}  // namespace assay::cli
