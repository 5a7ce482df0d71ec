#pragma once
// `assay doctor`: what this machine offers, what is wrong with the set-up, and how to put it right.

#include <string>
#include <vector>

#include "cli/machine_facts.h"
#include "cli/streams.h"

namespace assay::cli {

struct DoctorFlags {
  ModelFlags model;
  int port = 8080;
  bool json = false;
};

// The specs of all of the above. `flags` must outlive them.
CommandSpec doctor_command(DoctorFlags& flags);

enum class FindingLevel { kGood, kWarning, kFatal };

struct Finding {
  FindingLevel level = FindingLevel::kGood;
  std::string what;
  std::string fix;  // empty for kGood
};

// One finding for each thing that was looked at, in a fixed order. A pure function.
std::vector<Finding> findings_of(const MachineFacts& facts);

// Prints the findings. Exit code 1 when one is fatal, else 0.
int run_doctor(const DoctorFlags& flags, const MachineFacts& facts, Streams& streams);

}  // namespace assay::cli
