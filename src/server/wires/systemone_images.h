#pragma once
// System One's images: `assets`, which the state or a question calls by their references, and `images`, a list that
// llama.cpp's and Ollama's servers take.

#include "server/wires/systemone_question.h"
#include "server/wires/systemone_request.h"

namespace assay::server {

// Reads both into out.request.images, the assets first, and where each stood into out.echo. Where the model reads none,
// those that are not empty are refused. The rules of the contract: an asset is {"type": "image", "format": "png" or
// "jpg", "data_base64"}, and its reference is in the state or in a question. What breaks the shape is a fault; what is
// well-formed and no image that can be read is a usage error. One, too, is an image that stands in the state or in a
// question with its bytes, as the parts of chat messages do (find_image_part()): it would be read as text.
void read_system_one_images(const Value& top, const WireSettings& settings, SystemOneRequest& out,
                            SystemOneFaults& faults);

}  // namespace assay::server
