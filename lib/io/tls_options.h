// The TLS options of every program (ovs-vswitchd(8) "Public Key Infrastructure Options"), for getopt_long:
//
//   const std::string shorts = "..." + std::string(kTlsShortOptions);
//   longs.insert(longs.end(), kTlsLongOptions.begin(), kTlsLongOptions.end());
//   ...
//   default: if (TakeTlsOption(choice, optarg, &tls)) break;
#pragma once

#include <getopt.h>

#include <array>
#include <string_view>

#include "lib/io/stream.h"

namespace sluice {

enum TlsOption : int {
  kTlsPrivateKey = 'p',
  kTlsCertificate = 'c',
  kTlsCaCert = 'C',
  kTlsBootstrapCaCert = 0x7100,  // far from what programs number their own options with
  kTlsPeerCaCert,
  kTlsProtocols,
  kTlsCiphers,
};

inline constexpr std::string_view kTlsShortOptions = "p:c:C:";
inline constexpr std::array<option, 7> kTlsLongOptions = {{
    {"private-key", required_argument, nullptr, kTlsPrivateKey},
    {"certificate", required_argument, nullptr, kTlsCertificate},
    {"ca-cert", required_argument, nullptr, kTlsCaCert},
    {"bootstrap-ca-cert", required_argument, nullptr, kTlsBootstrapCaCert},
    {"peer-ca-cert", required_argument, nullptr, kTlsPeerCaCert},
    {"ssl-protocols", required_argument, nullptr, kTlsProtocols},
    {"ssl-ciphers", required_argument, nullptr, kTlsCiphers},
}};

// If `choice` (getopt_long's result) is one of them, puts its argument into `config` and returns true.
bool TakeTlsOption(int choice, const char* argument, TlsConfig* config);

// The lines of --help.
std::string_view TlsOptionsUsage();

}  // namespace sluice
