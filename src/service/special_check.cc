#include "service/special_check.h"

#include <optional>
#include <string>
#include <vector>

namespace assay::service {
namespace {

// Every text of a value: its strings and its keys.
void collect_texts(const Value& value, std::vector<const std::string*>& texts) {
  if (const std::string* text = value.string()) texts.push_back(text);
  if (const Value::Array* array = value.array()) {
    for (const Value& item : *array) collect_texts(item, texts);
  }
  if (const Value::Object* object = value.object()) {
    for (const Value::Member& member : *object) {
      texts.push_back(&member.first);
      collect_texts(member.second, texts);
    }
  }
}

}  // namespace

Status refuse_special_tokens(const DecisionRequest& request, const engine::Encoder& encoder) {
  const auto check = [&encoder](const std::string& field, const std::string& text) -> Status {
    const std::optional<std::string> special = encoder.find_special(text);
    if (!special) return {};
    return invalid_argument(field, field + " contains the control token " + *special +
                                       " (special tokens are refused by this server's setting).");
  };
  std::vector<const std::string*> texts;
  collect_texts(request.state, texts);
  for (const std::string* text : texts) {
    if (Status status = check("state", *text); !status.ok()) return status;
  }
  for (std::size_t q = 0; q < request.questions.size(); q++) {
    const Question& question = request.questions[q];
    const std::string path = "questions[" + std::to_string(q) + "]";
    if (Status status = check(path + ".text", question.text); !status.ok()) return status;
    for (std::size_t i = 0; i < question.options.size(); i++) {
      const std::string option_path = path + ".options[" + std::to_string(i) + "]";
      if (Status status = check(option_path + ".id", question.options[i].id); !status.ok()) return status;
      if (Status status = check(option_path + ".description", question.options[i].description.value_or(""));
          !status.ok())
        return status;
    }
  }
  return {};
}

}  // namespace assay::service
