// For tests/json_text_property_test.py: reads one JSON document a line, writes to_json_text() of each as one line.
// A document that does not parse becomes "error: " and the reason.

#include <iostream>
#include <string>

#include "assay/value.h"
#include "server/wires/wire_json.h"

int main() {
  std::ios::sync_with_stdio(false);
  for (std::string line; std::getline(std::cin, line);) {
    const assay::Result<assay::Value> value = assay::server::parse_json(line);
    std::cout << (value.ok() ? assay::to_json_text(*value) : "error: " + value.error().message) << '\n';
  }
  std::cout.flush();
  return std::cout.good() ? 0 : 1;
}
