// A lesson as JSON and back. Members stand in a fixed order; arrays of floats are packed_floats.h's.
#include "service/lesson_file.h"

#include <cmath>
#include <exception>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "service/packed_floats.h"

namespace assay {
namespace {

using Json = nlohmann::ordered_json;
constexpr const char* kFormat = "assay-lesson-1";
constexpr std::size_t kTextBytesMax = 256u * 1024 * 1024;

// What is wrong with a file, on its way out of the parser below.
struct Fault {
  std::string field;
  std::string message;
};

[[noreturn]] void fail(const std::string& field, const std::string& message) { throw Fault{field, message}; }

// One member after another of an object, each with its place in the file for what is said about it.
class Reader {
 public:
  Reader(const Json& json, std::string path) : json_(json), path_(std::move(path)) {
    if (!json.is_object()) fail(path_, "must be an object");
  }

  std::string at(const char* key) const { return path_.empty() ? key : path_ + "." + key; }

  const Json* find(const char* key) {
    seen_.insert(key);
    const auto found = json_.find(key);
    return found == json_.end() ? nullptr : &*found;
  }
  const Json& need(const char* key) {
    const Json* found = find(key);
    if (found == nullptr) fail(at(key), "is missing");
    return *found;
  }
  std::string text(const char* key) { return text_of(need(key), at(key)); }
  std::optional<std::string> maybe_text(const char* key) {
    const Json* found = find(key);
    if (found == nullptr || found->is_null()) return std::nullopt;
    return text_of(*found, at(key));
  }
  std::string one_of(const char* key, const std::vector<std::string>& names) {
    std::string name = text(key);
    std::string all;
    for (const std::string& known : names) {
      if (known == name) return name;
      all += (all.empty() ? "" : ", ") + known;
    }
    fail(at(key), "must be one of " + all);
  }
  double number(const char* key, double low, double high) { return number_of(need(key), at(key), low, high); }
  std::size_t count(const char* key, std::size_t high = 1'000'000'000) { return count_of(need(key), at(key), high); }
  const Json& list(const char* key) {
    const Json& found = need(key);
    if (!found.is_array()) fail(at(key), "must be a list");
    return found;
  }
  // `made_of`: the head that it was packed from, where that is at hand.
  std::vector<float> floats(const char* key, std::size_t size, const LinearHead* made_of,
                            std::vector<float> LinearHead::* member) {
    Reader packed(need(key), at(key));
    if (made_of != nullptr) {
      const Status checked = service::check_floats(made_of->*member, size);
      if (!checked.ok()) fail(packed.at("f32"), checked.error().message);
      return made_of->*member;
    }
    const service::PackedFloats text{.base64 = packed.text("f32"), .sha256 = packed.text("sha256")};
    packed.end();
    Result<std::vector<float>> numbers = service::unpack_floats(text, size);
    if (!numbers.ok()) fail(packed.at("f32"), numbers.error().message);
    return std::move(numbers).value();
  }
  // REQUIRES: last. Members that nobody asked for are refused: they would be a newer version's or a slip.
  void end() const {
    for (const auto& [key, value] : json_.items()) {
      if (!seen_.contains(key)) fail(at(key.c_str()), "is no member of a lesson that this version knows");
    }
  }

  static std::string text_of(const Json& json, const std::string& path) {
    if (!json.is_string()) fail(path, "must be a string");
    return json.get<std::string>();
  }
  static double number_of(const Json& json, const std::string& path, double low, double high) {
    const double number = json.is_number() ? json.get<double>() : NAN;
    if (!(number >= low && number <= high))
      fail(path, "must be a number from " + Json(low).dump() + " to " + Json(high).dump());
    return number;
  }
  static std::size_t count_of(const Json& json, const std::string& path, std::size_t high) {
    if (!json.is_number_unsigned() || json.get<std::uint64_t>() > high)
      fail(path, "must be a whole number from 0 to " + std::to_string(high));
    return json.get<std::size_t>();
  }

 private:
  const Json& json_;
  const std::string path_;
  std::set<std::string> seen_;
};

const std::vector<std::string> kTypes = {"choice", "yes_no", "scale"};
constexpr double kAnyNumber = 1e300;
constexpr std::size_t kHorizonMax = 1'000'000;

Json packed(const std::vector<float>& numbers) {
  service::PackedFloats text = service::pack_floats(numbers);
  return {{"f32", std::move(text.base64)}, {"sha256", std::move(text.sha256)}};
}

std::string place(const std::string& list, std::size_t index) { return list + "[" + std::to_string(index) + "]"; }

Json question_json(const LessonQuestion& question) {
  Json options = Json::array();
  for (const auto& [id, description] : question.options)
    options.push_back({{"id", id}, {"description", description ? Json(*description) : Json()}});
  return {{"text", question.text}, {"type", question.type}, {"options", options}};
}

LessonQuestion question_from(const Json& json, const std::string& path) {
  Reader reader(json, path);
  LessonQuestion question{.text = reader.text("text"), .type = reader.one_of("type", kTypes), .options = {}};
  std::set<std::string> ids;
  const Json& options = reader.list("options");
  for (std::size_t i = 0; i < options.size(); i++) {
    Reader option(options[i], place(reader.at("options"), i));
    std::string id = option.text("id");
    if (!ids.insert(id).second) fail(option.at("id"), "stands twice");
    question.options.emplace_back(std::move(id), option.maybe_text("description"));
    option.end();
  }
  if (options.empty()) fail(reader.at("options"), "must have an option");
  reader.end();
  return question;
}

Json calibration_json(const Calibration& calibration) {
  Json knots = Json::array();
  for (const auto& [x, y] : calibration.isotonic) knots.push_back(Json::array({x, y}));
  Json json = {{"readout", calibration.readout},
               {"type", calibration.type},
               {"options_min", calibration.options_min},
               {"options_max", calibration.options_max},
               {"temperature", calibration.temperature},
               {"isotonic", knots},
               {"rows", calibration.rows},
               {"ece", Json::array({calibration.ece_before, calibration.ece_after})},
               {"brier", Json::array({calibration.brier_before, calibration.brier_after})},
               {"log_loss", Json::array({calibration.log_loss_before, calibration.log_loss_after})}};
  if (calibration.slope != 1 || calibration.shift != 0) {  // else it is what earlier versions read, too
    json["slope"] = calibration.slope;
    json["shift"] = calibration.shift;
  }
  return json;
}

void read_pair(Reader& reader, const char* key, double& before, double& after) {
  const Json& pair = reader.list(key);
  if (pair.size() != 2) fail(reader.at(key), "must be two numbers, before and after");
  before = Reader::number_of(pair[0], reader.at(key), -kAnyNumber, kAnyNumber);
  after = Reader::number_of(pair[1], reader.at(key), -kAnyNumber, kAnyNumber);
}

Calibration calibration_from(const Json& json, const std::string& path) {
  Reader reader(json, path);
  Calibration out;
  out.readout = reader.one_of("readout", {"letters", "text", "head", "taught"});
  out.type = reader.one_of("type", kTypes);
  out.options_min = reader.count("options_min");
  out.options_max = reader.count("options_max");
  if (out.options_min > out.options_max) fail(reader.at("options_max"), "is below options_min");
  out.temperature = reader.number("temperature", 1e-6, 1e6);
  if (const Json* slope = reader.find("slope")) out.slope = Reader::number_of(*slope, reader.at("slope"), 0, 1e6);
  if (const Json* shift = reader.find("shift")) out.shift = Reader::number_of(*shift, reader.at("shift"), -1e6, 1e6);
  const Json& knots = reader.list("isotonic");
  for (std::size_t i = 0; i < knots.size(); i++) {
    const std::string here = place(reader.at("isotonic"), i);
    if (!knots[i].is_array() || knots[i].size() != 2) fail(here, "must be two numbers");
    const double x = Reader::number_of(knots[i][0], here, 0, 1);
    const double y = Reader::number_of(knots[i][1], here, 0, 1);
    if (!out.isotonic.empty() && (x <= out.isotonic.back().first || y < out.isotonic.back().second))
      fail(here, "must rise: x above the one before, y not below it");
    out.isotonic.emplace_back(x, y);
  }
  out.rows = reader.count("rows");
  read_pair(reader, "ece", out.ece_before, out.ece_after);
  read_pair(reader, "brier", out.brier_before, out.brier_after);
  read_pair(reader, "log_loss", out.log_loss_before, out.log_loss_after);
  reader.end();
  return out;
}

// A file without a horizon is what earlier versions read, too.
Json threshold_json(const Threshold& threshold) {
  Json json = {{"option", threshold.option},     {"risk", threshold.risk},
               {"level", threshold.level},       {"value", threshold.value ? Json(*threshold.value) : Json()},
               {"coverage", threshold.coverage}, {"error", threshold.error},
               {"rows", threshold.rows},         {"rows_missing", threshold.rows_missing}};
  if (threshold.horizon > 0) json["horizon"] = threshold.horizon;
  return json;
}

Threshold threshold_from(const Json& json, const std::string& path) {
  Reader reader(json, path);
  Threshold out;
  out.option = reader.text("option");
  out.risk = reader.number("risk", 0, 1);
  out.level = reader.number("level", 0, 1);
  if (const Json* horizon = reader.find("horizon"))
    out.horizon = Reader::count_of(*horizon, reader.at("horizon"), kHorizonMax);
  if (const Json& value = reader.need("value"); !value.is_null())
    out.value = Reader::number_of(value, reader.at("value"), 0, 1);
  out.coverage = reader.number("coverage", 0, 1);
  out.error = reader.number("error", 0, 1);
  out.rows = reader.count("rows");
  out.rows_missing = reader.count("rows_missing");
  reader.end();
  return out;
}

// A head without lambda is what earlier versions read, too.
Json head_json(const LinearHead& head) {
  Json json = {{"method", head.method},
               {"regularisation", head.regularisation},
               {"cues", head.cues},
               {"width", head.width},
               {"normalised", head.normalised},
               {"options", head.options},
               {"prior_weight", head.prior_weight},
               {"mean", packed(head.mean)},
               {"scale", packed(head.scale)},
               {"weights", packed(head.weights)},
               {"bias", packed(head.bias)}};
  if (head.lambda > 0) json.update({{"lambda", head.lambda}, {"sharpness", head.sharpness}});
  return json;
}

LinearHead head_from(const Json& json, const std::string& path, const LessonQuestion& question,
                     const LinearHead* made_of) {
  Reader reader(json, path);
  LinearHead head;
  head.method = reader.one_of("method", {"lda", "ridge"});
  head.regularisation = reader.number("regularisation", 0, kAnyNumber);
  const Json& cues = reader.list("cues");
  for (std::size_t i = 0; i < cues.size(); i++)
    head.cues.push_back(Reader::text_of(cues[i], place(reader.at("cues"), i)));
  if (cues.empty()) fail(reader.at("cues"), "must have a cue");
  head.width = reader.count("width", 1u << 20);
  if (head.width == 0 || head.width % cues.size() != 0)
    fail(reader.at("width"), "must be a multiple of the number of cues, above 0");
  const Json& options = reader.list("options");
  for (std::size_t i = 0; i < options.size(); i++) {
    const std::size_t option =
        Reader::count_of(options[i], place(reader.at("options"), i), question.options.size() - 1);
    if (i > 0 && option <= head.options.back()) fail(place(reader.at("options"), i), "must be above the one before");
    head.options.push_back(option);
  }
  if (options.empty()) fail(reader.at("options"), "must have an option");
  const Json& normalised = reader.need("normalised");
  if (!normalised.is_boolean()) fail(reader.at("normalised"), "must be true or false");
  head.normalised = normalised.get<bool>();
  head.prior_weight = reader.number("prior_weight", 0, 1);
  if (const Json* lambda = reader.find("lambda")) {
    head.lambda = Reader::number_of(*lambda, reader.at("lambda"), 0, kAnyNumber);
    head.sharpness = reader.number("sharpness", 1e-300, kAnyNumber);
  }
  head.mean = reader.floats("mean", head.width, made_of, &LinearHead::mean);
  head.scale = reader.floats("scale", head.width, made_of, &LinearHead::scale);
  head.weights = reader.floats("weights", head.width * head.options.size(), made_of, &LinearHead::weights);
  head.bias = reader.floats("bias", head.options.size(), made_of, &LinearHead::bias);
  reader.end();
  return head;
}

Growth growth_from(const Json& json) {
  Reader reader(json, "growth");
  Growth out{.calibrated_at_version = static_cast<std::int32_t>(reader.count("calibrated_at_version")),
             .labels = reader.count("labels")};
  reader.end();
  return out;
}

Lesson lesson_from(const Json& json, const LinearHead* made_of = nullptr) {
  Reader reader(json, "");
  if (reader.text("format") != kFormat)
    fail("format", std::string("must be \"") + kFormat + "\": this is no lesson, or one of another version of Assay");
  Lesson out;
  out.name = reader.text("name");
  if (!is_lesson_name(out.name)) fail("name", "must be 1 to 64 of a-z, 0-9, '-' and '_', and begin with a-z or 0-9");
  out.version = static_cast<std::int32_t>(reader.count("version", 1'000'000'000));
  if (out.version < 1) fail("version", "must be at least 1");
  out.created = reader.text("created");
  Reader model(reader.need("model"), "model");
  out.model_id = model.text("id");
  out.model_sha256 = model.text("sha256");
  model.end();
  out.layout = reader.one_of("layout", {"state_first", "question_first"});
  if (const Json* question = reader.find("question"); question != nullptr && !question->is_null())
    out.question = question_from(*question, "question");
  if (const Json* head = reader.find("head"); head != nullptr && !head->is_null()) {
    if (!out.question) fail("question", "is missing: a head is for one question");
    out.head = head_from(*head, "head", *out.question, made_of);
  }
  const Json& calibrations = reader.list("calibrations");
  for (std::size_t i = 0; i < calibrations.size(); i++)
    out.calibrations.push_back(calibration_from(calibrations[i], place("calibrations", i)));
  const Json& thresholds = reader.list("thresholds");
  for (std::size_t i = 0; i < thresholds.size(); i++)
    out.thresholds.push_back(threshold_from(thresholds[i], place("thresholds", i)));
  out.fallback = reader.maybe_text("fallback");
  Reader labels(reader.need("labels"), "labels");
  out.labels = labels.count("all");
  const Json& by_option = labels.need("by_option");
  if (!by_option.is_object()) fail("labels.by_option", "must be an object");
  for (const auto& [option, count] : by_option.items())
    out.labels_by_option.emplace_back(option, Reader::count_of(count, "labels.by_option." + option, 1'000'000'000));
  labels.end();
  out.accuracy_zero_shot = reader.number("accuracy_zero_shot", -1, 1);
  out.accuracy = reader.number("accuracy", -1, 1);
  out.mean_confidence = reader.number("mean_confidence", -1, 1);
  out.note = reader.text("note");
  if (const Json* growth = reader.find("growth")) out.growth = growth_from(*growth);
  reader.end();
  return out;
}

Json lesson_json(const Lesson& lesson) {
  Json calibrations = Json::array();
  for (const Calibration& calibration : lesson.calibrations) calibrations.push_back(calibration_json(calibration));
  Json thresholds = Json::array();
  for (const Threshold& threshold : lesson.thresholds) thresholds.push_back(threshold_json(threshold));
  Json by_option = Json::object();
  for (const auto& [option, count] : lesson.labels_by_option) by_option[option] = count;
  Json json = {{"format", kFormat},
               {"name", lesson.name},
               {"version", static_cast<std::size_t>(lesson.version)},
               {"created", lesson.created},
               {"note", lesson.note},
               {"model", {{"id", lesson.model_id}, {"sha256", lesson.model_sha256}}},
               {"layout", lesson.layout},
               {"labels", {{"all", lesson.labels}, {"by_option", by_option}}},
               {"accuracy_zero_shot", lesson.accuracy_zero_shot},
               {"accuracy", lesson.accuracy},
               {"mean_confidence", lesson.mean_confidence},
               {"fallback", lesson.fallback ? Json(*lesson.fallback) : Json()},
               {"thresholds", thresholds},
               {"calibrations", calibrations},
               {"question", lesson.question ? question_json(*lesson.question) : Json()},
               {"head", lesson.head ? head_json(*lesson.head) : Json()}};
  if (lesson.growth)
    json["growth"] = {{"calibrated_at_version", static_cast<std::size_t>(lesson.growth->calibrated_at_version)},
                      {"labels", lesson.growth->labels}};
  return json;
}

// What `work` gives; a fault as an error, and `otherwise` for what the JSON library refuses.
template <typename Work>
auto without_faults(const char* otherwise, const Work& work) -> Result<decltype(work())> {
  try {
    return work();
  } catch (const Fault& fault) {
    return invalid_argument(fault.field, "The lesson's \"" + fault.field + "\" " + fault.message + ".");
  } catch (const std::exception&) {
    return invalid_argument("lesson", otherwise);
  }
}

}  // namespace

std::string lesson_text(const Lesson& lesson) {
  return lesson_json(lesson).dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<LessonFile> lesson_file(const Lesson& lesson) {
  return without_faults("The lesson has a text that is not valid UTF-8.", [&] {
    const Json json = lesson_json(lesson);
    LessonFile out{.text = {}, .lesson = lesson_from(json, lesson.head ? &*lesson.head : nullptr)};
    out.text = json.dump(1) + "\n";
    if (out.text.size() > kTextBytesMax) fail("head", "is too large for a file of at most 256 MiB");
    return out;
  });
}

Result<Lesson> lesson_from_text(const std::string& text) {
  if (text.size() > kTextBytesMax) return invalid_argument("lesson", "A lesson's file has at most 256 MiB.");
  return without_faults("The lesson's file is no JSON: it is damaged, or no lesson.",
                        [&] { return lesson_from(Json::parse(text)); });
}

}  // namespace assay
