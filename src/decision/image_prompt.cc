#include <utility>

#include "decision/prompt.h"

namespace assay::decision {

Prompt with_images(Prompt prompt, std::span<const Image> images) {
  if (images.empty()) return prompt;
  std::string front;
  for (const Image& image : images) {
    if (!image.name.empty()) front += image.name + ": ";
    prompt.image_slots.push_back(front.size());
    front += '\n';
  }
  prompt.fixed_bytes += front.size();
  prompt.shared_bytes += front.size();
  prompt.user.insert(0, front);
  prompt.version += "+images-v1";
  return prompt;
}

}  // namespace assay::decision
