#pragma once
// TLS for the listener, where the program was built with OpenSSL (LLAMA_OPENSSL, the switch of llama.cpp's HTTP
// library).

#include <memory>
#include <string>

#include "assay/error.h"
#include "server/http/transport.h"

namespace assay::server {

// A certificate and its key, ready for connections. Thread-safe.
class TlsContext {
 public:
  // PEM files: the certificate with its chain, and the key. TLS 1.2 or later. Errors:
  // kInvalidArgument when only one file is named, when this program has no TLS, or when the files do not fit together;
  // kNotFound when one cannot be read.
  static Result<std::unique_ptr<TlsContext>> open(const std::string& certificate_file, const std::string& key_file);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  // For a socket that was accepted; null when memory is short. It keeps what it needs of this object.
  std::unique_ptr<Transport> transport(int socket) const;

 private:
  struct Library;  // OpenSSL's part
  explicit TlsContext(std::unique_ptr<Library> library);

  const std::unique_ptr<Library> library_;
};

}  // namespace assay::server
