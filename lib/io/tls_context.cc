#include "lib/io/tls_context.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <sys/stat.h>

#include <vector>

#include "lib/base/log.h"

namespace sluice {

namespace {

LogModule log_module("stream_ssl");

// Why OpenSSL's last call of this thread failed.
std::string OpenSslError() {
  const unsigned long code = ERR_peek_error();
  ERR_clear_error();
  const char* reason = ERR_reason_error_string(code);
  return reason != nullptr ? reason : fmt::format("error {:#x}", code);
}

absl::Status FileError(const std::string& target, std::string_view what, const std::string& file) {
  struct stat status;
  if (stat(file.c_str(), &status) != 0) {
    return ErrnoStatus(errno, fmt::format("{}: {} {}", target, what, file));
  }
  return InvalidArgument("{}: {} {}: {}; expected PEM", target, what, file, OpenSslError());
}

// A key under a password would make OpenSSL ask at the terminal.
int NoPassword(char*, int, int, void*) { return -1; }

absl::Status SetProtocols(const std::string& target, std::string_view protocols, SSL_CTX* ctx) {
  struct Protocol {
    std::string_view name;
    uint64_t disable;
  };
  static constexpr Protocol kProtocols[] = {{"TLSv1", SSL_OP_NO_TLSv1},
                                            {"TLSv1.1", SSL_OP_NO_TLSv1_1},
                                            {"TLSv1.2", SSL_OP_NO_TLSv1_2},
                                            {"TLSv1.3", SSL_OP_NO_TLSv1_3}};
  uint64_t disabled = SSL_OP_NO_SSLv3 | SSL_OP_NO_TLSv1 | SSL_OP_NO_TLSv1_1;
  if (!protocols.empty()) {
    disabled |= SSL_OP_NO_TLSv1_2 | SSL_OP_NO_TLSv1_3;
  }
  constexpr std::string_view kSeparators = " ,\t";
  for (std::string_view rest = protocols; !rest.empty();) {
    const std::string_view word = rest.substr(0, rest.find_first_of(kSeparators));
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    if (word.empty()) continue;
    bool known = false;
    for (const Protocol& protocol : kProtocols) {
      if (word == protocol.name) {
        disabled &= ~protocol.disable;
        known = true;
      }
    }
    if (!known) {
      return InvalidArgument("{}: TLS protocol \"{}\": expected a list of TLSv1, TLSv1.1, TLSv1.2 and TLSv1.3", target,
                             word);
    }
  }
  SSL_CTX_set_options(ctx, disabled);
  return absl::OkStatus();
}

// The certificates that go to the peer beside our own, so that it can take the CA's from there.
absl::Status AddPeerCa(const std::string& target, const std::string& file, SSL_CTX* ctx) {
  const std::unique_ptr<BIO, int (*)(BIO*)> bio(BIO_new_file(file.c_str(), "r"), &BIO_free);
  if (bio == nullptr) return FileError(target, "peer CA certificate", file);
  size_t count = 0;
  while (X509* certificate = PEM_read_bio_X509(bio.get(), nullptr, &NoPassword, nullptr)) {
    SSL_CTX_add0_chain_cert(ctx, certificate);  // takes it
    ++count;
  }
  if (count == 0) return FileError(target, "peer CA certificate", file);
  ERR_clear_error();  // the reader's way to say that there is no further one
  return absl::OkStatus();
}

absl::Status SetVerification(const std::string& target, TlsContext* tls) {
  SSL_CTX* const ctx = tls->context.native_handle();
  const TlsConfig& config = tls->config;
  constexpr int kCheckPeer = SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
  if (config.ca_cert == "none") {
    SSL_CTX_set_verify(ctx, SSL_VERIFY_NONE, nullptr);
    return absl::OkStatus();
  }
  if (config.ca_cert.empty()) {
    return FailedPrecondition("{}: no CA certificate is configured; give --ca-cert=FILE, or none to check no peer",
                              target);
  }
  struct stat status;
  if (config.bootstrap_ca && stat(config.ca_cert.c_str(), &status) != 0 && errno == ENOENT) {
    tls->bootstrapping = true;
    SSL_CTX_set_verify(ctx, kCheckPeer, [](int, X509_STORE_CTX*) { return 1; });
    return absl::OkStatus();
  }
  if (SSL_CTX_load_verify_file(ctx, config.ca_cert.c_str()) != 1) {
    return FileError(target, "CA certificate", config.ca_cert);
  }
  // What a server tells clients that it accepts; a list that cannot be made does not matter to the check.
  if (STACK_OF(X509_NAME)* names = SSL_load_client_CA_file(config.ca_cert.c_str())) {
    SSL_CTX_set_client_CA_list(ctx, names);
  }
  SSL_CTX_set_verify(ctx, kCheckPeer, nullptr);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<TlsContext>> MakeTlsContext(const std::string& target, const TlsConfig& config) {
  if (!config.configured()) {
    return FailedPrecondition(
        "{}: TLS is not configured; give --private-key, --certificate and --ca-cert, or fill the SSL table", target);
  }
  ERR_clear_error();
  auto tls = std::make_shared<TlsContext>();
  tls->config = config;
  SSL_CTX* const ctx = tls->context.native_handle();
  SSL_CTX_set_default_passwd_cb(ctx, &NoPassword);
  SSL_CTX_set_options(ctx, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET);
  SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
  SLUICE_RETURN_IF_ERROR(SetProtocols(target, config.protocols, ctx));
  const std::string ciphers = config.ciphers.empty() ? "HIGH:!aNULL:!MD5" : config.ciphers;
  if (SSL_CTX_set_cipher_list(ctx, ciphers.c_str()) != 1) {
    return InvalidArgument("{}: TLS ciphers \"{}\": {}; expected a list as openssl-ciphers(1) describes", target,
                           ciphers, OpenSslError());
  }
  if (SSL_CTX_use_certificate_chain_file(ctx, config.certificate.c_str()) != 1) {
    return FileError(target, "certificate", config.certificate);
  }
  if (SSL_CTX_use_PrivateKey_file(ctx, config.private_key.c_str(), SSL_FILETYPE_PEM) != 1) {
    return FileError(target, "private key", config.private_key);
  }
  if (SSL_CTX_check_private_key(ctx) != 1) {
    return InvalidArgument("{}: private key {} is not that of certificate {}", target, config.private_key,
                           config.certificate);
  }
  if (!config.peer_ca_cert.empty()) {
    SLUICE_RETURN_IF_ERROR(AddPeerCa(target, config.peer_ca_cert, ctx));
  }
  SLUICE_RETURN_IF_ERROR(SetVerification(target, tls.get()));
  return tls;
}

absl::StatusOr<std::unique_ptr<TlsContextCache>> TlsContextCache::Create(const std::string& target,
                                                                         const TlsConfig& config) {
  auto context = MakeTlsContext(target, config);
  if (!context.ok()) return context.status();
  auto cache = std::make_unique<TlsContextCache>();
  cache->target_ = target;
  cache->config_ = config;
  cache->context_ = *std::move(context);
  cache->stamp_ = cache->Stamp();
  return cache;
}

std::shared_ptr<TlsContext> TlsContextCache::Get() {
  std::string stamp = Stamp();
  if (stamp == stamp_) return context_;
  stamp_ = std::move(stamp);
  if (auto context = MakeTlsContext(target_, config_); context.ok()) {
    context_ = *std::move(context);
  } else {
    SLUICE_LOG(log_module, kWarn, "{}; going on with the files as they were", Message(context.status()));
  }
  return context_;
}

std::string TlsContextCache::Stamp() const {
  std::string stamp;
  for (const std::string& file : {config_.private_key, config_.certificate, config_.ca_cert, config_.peer_ca_cert}) {
    struct stat status {};
    stat(file.c_str(), &status);
    stamp += fmt::format("{}:{}:{}.{} ", status.st_ino, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
  }
  return stamp;
}

}  // namespace sluice
