#include "lib/io/tls_options.h"

namespace sluice {

bool TakeTlsOption(int choice, const char* argument, TlsConfig* config) {
  switch (choice) {
    case kTlsPrivateKey:
      config->private_key = argument;
      return true;
    case kTlsCertificate:
      config->certificate = argument;
      return true;
    case kTlsCaCert:
    case kTlsBootstrapCaCert:
      config->ca_cert = argument;
      config->bootstrap_ca = choice == kTlsBootstrapCaCert;
      return true;
    case kTlsPeerCaCert:
      config->peer_ca_cert = argument;
      return true;
    case kTlsProtocols:
      config->protocols = argument;
      return true;
    case kTlsCiphers:
      config->ciphers = argument;
      return true;
    default:
      return false;
  }
}

std::string_view TlsOptionsUsage() {
  return "PKI configuration (for TLS connections):\n"
         "  -p, --private-key=FILE  file with private key\n"
         "  -c, --certificate=FILE  file with certificate for private key\n"
         "  -C, --ca-cert=FILE      file with peer CA certificate, or none\n"
         "  --bootstrap-ca-cert=FILE  file with peer CA certificate to read or create\n"
         "  --peer-ca-cert=FILE     file with CA certificate to send to peers\n"
         "  --ssl-protocols=PROTOS  list of TLS protocols to enable (default TLSv1.2,TLSv1.3)\n"
         "  --ssl-ciphers=CIPHERS   list of TLS ciphers to enable\n";
}

}  // namespace sluice
