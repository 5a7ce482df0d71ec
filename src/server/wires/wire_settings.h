#pragma once
// What the wires know of the server that they stand in: its names for the model and its limits.

#include <cstddef>
#include <string>
#include <vector>

namespace assay::server {

// A value, the same for all wires of a server. A wire keeps a copy.
struct WireSettings {
  // The names that a request may give as its model. The first is the model's own id, which every reply gives back.
  std::vector<std::string> model_names = {"model", "jev-latest", "jev-preview"};
  std::size_t body_bytes_max = 25u * 1024 * 1024;  // longer bodies are refused unparsed
  // SemIf, and whatever has no limit of its own below.
  std::size_t options_min = 1;
  std::size_t options_max = 1024;
  std::size_t questions_max = 256;
  // System One and OpenAI decisions, which have these numbers in their contracts.
  std::size_t system_one_options_max = 255;
  std::size_t system_one_levels_max = 10;
  std::size_t openai_questions_max = 400;
  // Digits behind the point of probabilities, scores and confidences; 0: as many as give the same double again. SemIf's
  // replies are never rounded.
  int round_digits = 0;
  bool reads_images = false;  // decisions take images; otherwise every wire refuses them

  const std::string& model_id() const { return model_names.front(); }
  bool knows_model(const std::string& name) const {
    for (const std::string& known : model_names) {
      if (name == known) return true;
    }
    return false;
  }
};

}  // namespace assay::server
