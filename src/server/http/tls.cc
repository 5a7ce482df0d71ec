// The one file that knows OpenSSL. CPPHTTPLIB_OPENSSL_SUPPORT comes with the HTTP library's target when that was built
// with OpenSSL, which then is linked too.
#include "server/http/tls.h"

#include <fstream>
#include <utility>

#ifdef CPPHTTPLIB_OPENSSL_SUPPORT
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <climits>
#endif

namespace assay::server {
namespace {

Status check_files(const std::string& certificate_file, const std::string& key_file) {
  if (certificate_file.empty()) return invalid_argument("--ssl-cert-file", "--ssl-key-file wants --ssl-cert-file too");
  if (key_file.empty()) return invalid_argument("--ssl-key-file", "--ssl-cert-file wants --ssl-key-file too");
  for (const std::string& file : {certificate_file, key_file}) {
    if (!std::ifstream(file)) return Error{ErrorCode::kNotFound, "'" + file + "' cannot be read", ""};
  }
  return {};
}

}  // namespace

#ifdef CPPHTTPLIB_OPENSSL_SUPPORT

namespace {

int bounded(std::size_t size) { return static_cast<int>(std::min(size, std::size_t{INT_MAX})); }

class TlsTransport final : public Transport {
 public:
  explicit TlsTransport(SSL* session) : session_(session) {}
  ~TlsTransport() override { SSL_free(session_); }
  TlsTransport(const TlsTransport&) = delete;
  TlsTransport& operator=(const TlsTransport&) = delete;

  Step shake_hands() override {
    ERR_clear_error();
    return step_of(SSL_accept(session_));
  }
  Step receive(char* to, std::size_t size) override {
    ERR_clear_error();
    return step_of(SSL_read(session_, to, bounded(size)));
  }
  Step send(const char* from, std::size_t size) override {
    ERR_clear_error();
    return step_of(SSL_write(session_, from, bounded(size)));
  }
  bool holds_bytes() const override { return SSL_pending(session_) > 0; }
  void say_goodbye() override {
    if (!failed_ && SSL_is_init_finished(session_) == 1) SSL_shutdown(session_);
    ERR_clear_error();
  }

 private:
  Step step_of(int returned) {
    if (returned > 0) return {.state = State::kMoved, .bytes = static_cast<std::size_t>(returned)};
    switch (SSL_get_error(session_, returned)) {
      case SSL_ERROR_WANT_READ:
        return {.state = State::kWantsRead};
      case SSL_ERROR_WANT_WRITE:
        return {.state = State::kWantsWrite};
      case SSL_ERROR_ZERO_RETURN:
        return {.state = State::kEnded};
      default:
        failed_ = true;  // such a session must not be shut down
        return {.state = State::kEnded};
    }
  }

  SSL* const session_;
  bool failed_ = false;
};

}  // namespace

struct TlsContext::Library {
  Library() : context(SSL_CTX_new(TLS_server_method())) {}
  ~Library() { SSL_CTX_free(context); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  SSL_CTX* const context;  // each session keeps it alive, too
};

Result<std::unique_ptr<TlsContext>> TlsContext::open(const std::string& certificate_file, const std::string& key_file) {
  const Status files = check_files(certificate_file, key_file);
  if (!files.ok()) return files.error();
  auto library = std::make_unique<Library>();
  SSL_CTX* context = library->context;
  if (context == nullptr) return Error{ErrorCode::kOutOfMemory, "no memory for TLS", ""};
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  if (SSL_CTX_use_certificate_chain_file(context, certificate_file.c_str()) != 1) {
    return invalid_argument("--ssl-cert-file", "'" + certificate_file + "' holds no certificate in PEM form");
  }
  if (SSL_CTX_use_PrivateKey_file(context, key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
    return invalid_argument("--ssl-key-file",
                            "'" + key_file + "' holds no key in PEM form that fits '" + certificate_file + "'");
  }
  return std::unique_ptr<TlsContext>(new TlsContext(std::move(library)));
}

std::unique_ptr<Transport> TlsContext::transport(int socket) const {
  SSL* session = SSL_new(library_->context);
  if (session == nullptr) return nullptr;
  auto transport = std::make_unique<TlsTransport>(session);
  if (SSL_set_fd(session, socket) != 1) return nullptr;
  return transport;
}

#else

struct TlsContext::Library {};

Result<std::unique_ptr<TlsContext>> TlsContext::open(const std::string& certificate_file, const std::string& key_file) {
  const Status files = check_files(certificate_file, key_file);
  if (!files.ok()) return files.error();
  return invalid_argument("--ssl-cert-file",
                          "this program was built without TLS; build it with OpenSSL, or put a proxy in front");
}

std::unique_ptr<Transport> TlsContext::transport(int /*socket*/) const { return nullptr; }

#endif

TlsContext::TlsContext(std::unique_ptr<Library> library) : library_(std::move(library)) {}

TlsContext::~TlsContext() = default;

}  // namespace assay::server
