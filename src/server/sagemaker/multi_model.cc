// A name is in the book from before its model is started until after it has gone, so that nobody starts it twice. What
// takes long is done without the lock; who loads a model takes its name out of the book where that fails, or where the
// model was unloaded meanwhile.
#include "server/sagemaker/multi_model.h"

#include <algorithm>
#include <utility>

#include "server/wires/wire_json.h"
#include "server/wires/wire_reply.h"

namespace assay::server {
namespace {

constexpr std::size_t kNameCharsMax = 256;
constexpr std::size_t kUrlBytesMax = 4096;
constexpr int kConflict = 409;
constexpr int kInsufficientStorage = 507;

ModelReply refusal(int status, const Error& error) { return {.status = status, .body = error_body(error)}; }

ModelReply not_loaded(const std::string& name) {
  return refusal(404, {ErrorCode::kNotFound, "the model '" + name.substr(0, kNameCharsMax) + "' is not loaded", ""});
}

// A name is a part of paths and an argument of a process.
bool is_name(const std::string& name) {
  if (name.empty() || name.size() > kNameCharsMax || name.front() == '-' || name.front() == '.') return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '_' ||
           c == '-';
  });
}

struct Order {
  std::string name;
  std::string url;
};

Result<Order> order_of(const std::string& body) {
  const Result<Value> top = parse_json(body);
  if (!top.ok()) return top.error();
  const auto text = [&top](const char* key) -> std::string {
    const Value* value = top->find(key);
    const std::string* string = value == nullptr ? nullptr : value->string();
    return string == nullptr ? "" : *string;
  };
  Order order{.name = text("model_name"), .url = text("url")};
  if (!is_name(order.name)) {
    return invalid_argument("model_name",
                            "model_name: 1 to 256 letters, digits, '.', '_' and '-', not beginning with '.' or '-'");
  }
  if (order.url.empty() || order.url.front() != '/' || order.url.size() > kUrlBytesMax ||
      order.url.find('\0') != std::string::npos) {
    return invalid_argument("url", "url: the whole path of a folder or a GGUF, at most 4096 bytes");
  }
  return order;
}

Value model_value(const std::string& name, const std::string& url) {
  return Value(Value::Object{{"modelName", text_value(name)}, {"modelUrl", text_value(url)}});
}

}  // namespace

MultiModel::MultiModel(ModelHost& host, FindFiles find_files, std::size_t page_models_max)
    : host_(host), find_files_(std::move(find_files)), page_models_max_(page_models_max) {}

ModelReply MultiModel::failed(const std::string& name, const Error& error) {
  Error told = error;
  told.message = "the model '" + name + "' cannot be loaded: " + error.message;
  if (error.code == ErrorCode::kOutOfMemory) return refusal(kInsufficientStorage, told);
  return refusal(error.code == ErrorCode::kUnsupportedModel ? 400 : http_status(error.code), told);
}

ModelReply MultiModel::load(const std::string& body, const std::function<bool()>& cancelled) {
  const Result<Order> order = order_of(body);
  if (!order.ok()) return refusal(400, order.error());
  const auto& [name, url] = *order;
  {
    const std::lock_guard lock(mutex_);
    const auto [entry, is_new] = models_.emplace(name, Entry{.url = url, .number = ++numbers_});
    if (!is_new) {
      const char* what = entry->second.state == State::kLoaded    ? "' is loaded"
                         : entry->second.state == State::kLoading ? "' is being loaded"
                                                                  : "' is being unloaded";
      return refusal(kConflict, invalid_argument("model_name", "the model '" + name + what));
    }
  }
  const Result<ModelFiles> files = find_files_(url);
  const Status started = files.ok() ? host_.start(name, *files, cancelled) : Status(files.error());
  {
    const std::lock_guard lock(mutex_);
    Entry& entry = models_.at(name);
    if (started.ok() && entry.state == State::kLoading) {
      entry.state = State::kLoaded;
      return {.body = to_json_text(model_value(name, url))};
    }
  }
  if (started.ok()) host_.stop(name);  // it was unloaded meanwhile
  {
    const std::lock_guard lock(mutex_);
    models_.erase(name);
  }
  gone_.notify_all();
  if (!files.ok()) return refusal(400, files.error());
  if (!started.ok()) return failed(name, started.error());
  return refusal(kConflict, invalid_argument("model_name", "the model '" + name + "' was unloaded while it loaded"));
}

ModelReply MultiModel::list(const std::string& token) const {
  if (!token.empty() && !is_name(token)) {
    return refusal(400, invalid_argument("next_page_token", "next_page_token: none that this server gave"));
  }
  Value::Array page;
  std::string last;
  bool more = false;
  {
    const std::lock_guard lock(mutex_);
    for (auto at = models_.upper_bound(token); at != models_.end() && !more; ++at) {
      if (at->second.state != State::kLoaded) continue;
      more = page.size() == page_models_max_;
      if (more) break;
      page.push_back(model_value(at->first, at->second.url));
      last = at->first;
    }
  }
  Value::Object reply{{"models", Value(std::move(page))}};
  if (more) reply.emplace_back("nextPageToken", Value(last));
  return {.body = to_json_text(Value(std::move(reply)))};
}

ModelReply MultiModel::get(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = models_.find(name);
  if (found == models_.end() || found->second.state != State::kLoaded) return not_loaded(name);
  return {.body = to_json_text(model_value(name, found->second.url))};
}

ModelReply MultiModel::unload(const std::string& name) {
  std::uint64_t number = 0;
  bool is_loading = false;
  {
    const std::lock_guard lock(mutex_);
    const auto found = models_.find(name);
    if (found == models_.end() || found->second.state == State::kLeaving) return not_loaded(name);
    number = found->second.number;
    is_loading = found->second.state == State::kLoading;
    found->second.state = State::kLeaving;
  }
  host_.stop(name);
  {
    std::unique_lock lock(mutex_);
    if (!is_loading) models_.erase(name);
    gone_.wait(lock, [&] {
      const auto found = models_.find(name);
      return found == models_.end() || found->second.number != number;
    });
  }
  return {.body = to_json_text(Value(Value::Object{{"modelName", text_value(name)}, {"status", Value("unloaded")}}))};
}

std::optional<ModelReply> MultiModel::refusal_for(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = models_.find(name);
  if (found != models_.end() && found->second.state == State::kLoaded) return std::nullopt;
  return not_loaded(name);
}

}  // namespace assay::server
