// Private keys and certificates for one test, made by the openssl command: two authorities that know nothing of each
// other, each with a server's and a client's certificate.
#pragma once

#include <string>

#include "lib/io/stream.h"

namespace sluice {

class TestPki {
 public:
  // Makes "ca.pem", "server.pem", "server.key", "client.pem", "client.key" in `folder`, which exists.
  explicit TestPki(std::string folder);

  TlsConfig Server() const { return Config("server"); }
  TlsConfig Client() const { return Config("client"); }
  std::string File(const std::string& name) const { return folder_ + "/" + name; }
  // Makes another certificate by the same authority.
  void Issue(const std::string& name) const;

 private:
  TlsConfig Config(const std::string& name) const;

  std::string folder_;
};

}  // namespace sluice
