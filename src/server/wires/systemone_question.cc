// Each reader adds what is wrong and goes on, so that one reply lists all of it; what it then returns is not used.
#include "server/wires/systemone_question.h"

#include <algorithm>
#include <utility>

namespace assay::server {
namespace {

constexpr std::size_t kFaultsMax = 100;  // listed of one body

// Where in the body a question is, and what may be said there.
class QuestionReader {
 public:
  QuestionReader(const Value::Member& member, const WireSettings& settings, const QuestionFields& all,
                 SystemOneFaults& faults)
      : body_(member.second), settings_(settings), all_(all), faults_(faults), id_(member.first) {}

  void read_into(SystemOneRequest& out);

 private:
  // ["body", "questions", id, type, …]; the type only once it is known.
  Value::Array loc(std::vector<Value> rest = {}) const {
    Value::Array path = {Value("body"), Value("questions"), loc_part(id_)};
    if (!tag_.empty()) path.emplace_back(tag_);
    for (Value& part : rest) path.push_back(std::move(part));
    return path;
  }
  void fault(std::vector<Value> rest, const std::string& msg, const char* type) {
    faults_.add(loc(std::move(rest)), msg, type);
  }

  bool read_type();
  void read_instructions(const char* neutral);
  void read_noul();
  void read_choice();
  void read_score();
  void read_fields();
  void make_ids_valid();
  bool is_text_like(const Value& value, std::vector<Value> rest);

  const Value& body_;
  const WireSettings& settings_;
  const QuestionFields& all_;
  SystemOneFaults& faults_;
  const std::string& id_;
  std::string tag_;  // "noul", "choice" or "score"
  Question question_;
  SystemOneQuestion echo_;
};

// A text, an object or an array: the three forms that any prose may have.
bool QuestionReader::is_text_like(const Value& value, std::vector<Value> rest) {
  if (value.is_string() || value.is_object() || value.is_array()) return true;
  fault(std::move(rest), "must be a string, an object or an array", "string_type");
  return false;
}

bool QuestionReader::read_type() {
  if (!body_.is_object()) {
    fault({}, "must be an object with a type", "dict_type");
    return false;
  }
  const Value* type = body_.find("type");
  if (type == nullptr) {
    fault({}, "type is missing; it must be noul, choice or score", "union_tag_not_found");
    return false;
  }
  const std::string name = type->string() == nullptr ? "" : *type->string();
  if (name == "box") {
    faults_.add_usage_error("question " + to_json_text(loc_part(id_)) +
                            (settings_.reads_images ? " is a box, and the model of this server gives no boxes"
                                                    : " is a box, and the model of this server reads no images"));
    return false;
  }
  if (name != "noul" && name != "choice" && name != "score") {
    fault({}, "type must be noul, choice or score", "union_tag_invalid");
    return false;
  }
  tag_ = name;
  return true;
}

void QuestionReader::read_instructions(const char* neutral) {
  const Value* instructions = body_.find("instructions");
  question_.text = neutral;
  if (instructions == nullptr || instructions->is_null()) return;
  if (!is_text_like(*instructions, {Value("instructions")})) return;
  std::string text = to_display_text(*instructions);
  if (!text.empty()) question_.text = std::move(text);
}

// What a description says; nothing where it says nothing.
std::optional<std::string> words_of(const Value& description) {
  if (description.is_null()) return std::nullopt;
  std::string text = to_display_text(description);
  if (text.empty()) return std::nullopt;
  return text;
}

void QuestionReader::read_noul() {
  question_.type = QuestionType::kYesNo;
  question_.options = {{.id = "true", .description = {}}, {.id = "false", .description = {}}};
  const Value* criteria = body_.find("criteria");
  if (criteria == nullptr || criteria->is_null()) return;
  if (!criteria->is_object()) return fault({Value("criteria")}, "must be an object with true and false", "dict_type");
  for (Option& option : question_.options) {
    const Value* side = criteria->find(option.id);
    if (side == nullptr || side->is_null()) continue;
    if (is_text_like(*side, {Value("criteria"), Value(option.id)})) option.description = words_of(*side);
  }
}

void QuestionReader::read_choice() {
  question_.type = QuestionType::kChoice;
  const Value* criteria = body_.find("criteria");
  if (criteria == nullptr) return fault({Value("criteria")}, "Field required", "missing");
  if (!criteria->is_object()) {
    return fault({Value("criteria")}, "must be an object: option names and what they mean", "dict_type");
  }
  const std::size_t count = criteria->object()->size();
  if (count == 0) return fault({Value("criteria")}, "has no option; at least 1 is needed", "too_short");
  if (count > settings_.system_one_options_max) {
    return faults_.add_usage_error("question " + to_json_text(loc_part(id_)) + " has " + std::to_string(count) +
                                   " options; the limit is " + std::to_string(settings_.system_one_options_max));
  }
  question_.options.reserve(count + 1);
  for (const auto& [name, description] : *criteria->object()) {
    Option option{.id = name, .description = std::nullopt};
    if (!description.is_null() && is_text_like(description, {Value("criteria"), loc_part(name)})) {
      option.description = words_of(description);
    }
    question_.options.push_back(std::move(option));
  }
}

void QuestionReader::read_score() {
  question_.type = QuestionType::kScale;
  const Value* criteria = body_.find("criteria");
  if (criteria == nullptr) return fault({Value("criteria")}, "Field required", "missing");
  if (!criteria->is_array()) return fault({Value("criteria")}, "must be a list, lowest level first", "list_type");
  const std::size_t count = criteria->array()->size();
  if (count == 0) return fault({Value("criteria")}, "has no level; at least 1 is needed", "too_short");
  if (count > settings_.system_one_levels_max) {
    return faults_.add_usage_error("question " + to_json_text(loc_part(id_)) + " has " + std::to_string(count) +
                                   " levels; the limit is " + std::to_string(settings_.system_one_levels_max));
  }
  for (std::size_t i = 0; i < count; ++i) {
    const Value& level = (*criteria->array())[i];
    Option option{.id = std::to_string(i), .description = std::nullopt};
    if (is_text_like(level, {Value("criteria"), Value(Value::Integer{std::to_string(i)})})) {
      option.description = words_of(level);
    }
    question_.options.push_back(std::move(option));
  }
  echo_.levels = *criteria->array();
}

void QuestionReader::read_fields() {
  QuestionFields own;
  for (const Value::Member& member : *body_.object()) {
    const std::optional<Status> read = read_question_field(member, own);
    if (read.has_value() && !read->ok()) fault({Value(member.first)}, read->error().message, "value_error");
  }
  if (question_.options.empty()) return;  // something is wrong already, and there is nothing to apply them to
  const Status applied = apply_question_fields(all_, own, settings_.system_one_options_max, question_);
  if (!applied.ok()) fault({Value(applied.error().field)}, applied.error().message, "value_error");
}

// Names are any text; ids are not. A model still sees the name where nothing describes the option.
void QuestionReader::make_ids_valid() {
  const auto is_no_id = [](const Option& option) {
    return option.id.empty() || option.id.size() > RequestLimits{}.id_bytes_max;
  };
  if (std::none_of(question_.options.begin(), question_.options.end(), is_no_id)) return;
  for (std::size_t i = 0; i < question_.options.size(); ++i) {
    Option& option = question_.options[i];
    if (!option.description.has_value()) option.description = option.id.empty() ? kEmptyName : option.id;
    option.id = "o" + std::to_string(i);
  }
}

void QuestionReader::read_into(SystemOneRequest& out) {
  if (!read_type()) return;
  if (tag_ == "noul") {
    read_instructions(kNoulInstructions);
    read_noul();
  } else if (tag_ == "choice") {
    read_instructions(kChoiceInstructions);
    read_choice();
  } else {
    read_instructions(kScoreInstructions);
    read_score();
  }
  read_fields();
  if (question_.type == QuestionType::kChoice) {
    for (const Option& option : question_.options) echo_.names.push_back(option.id);
    make_ids_valid();
  }
  question_.id = "q" + std::to_string(out.request.questions.size());
  question_.name = id_;
  echo_.id = id_;
  echo_.type = question_.type;
  echo_.wants_confidence = question_.min_confidence > 0;
  out.request.questions.push_back(std::move(question_));
  out.echo.questions.push_back(std::move(echo_));
}

}  // namespace

void SystemOneFaults::add(Value::Array loc, std::string msg, std::string type) {
  if (faults_.size() == kFaultsMax) {
    more_ += 1;
    return;
  }
  faults_.push_back({.loc = std::move(loc), .msg = std::move(msg), .type = std::move(type)});
}

void SystemOneFaults::add_usage_error(std::string message) {
  if (!usage_error_.has_value()) usage_error_ = std::move(message);
}

WireRefusal SystemOneFaults::refusal() const {
  if (faults_.empty()) return system_one_usage_error(*usage_error_);
  if (more_ == 0) return system_one_faults(faults_);
  std::vector<SystemOneFault> shown = faults_;
  shown.push_back({.loc = {Value("body")},
                   .msg = "and " + std::to_string(more_) + " more that are not listed",
                   .type = "too_many_errors"});
  return system_one_faults(shown);
}

void read_system_one_question(const Value::Member& member, const WireSettings& settings, const QuestionFields& all,
                              SystemOneRequest& out, SystemOneFaults& faults) {
  QuestionReader(member, settings, all, faults).read_into(out);
}

}  // namespace assay::server
