// The words that stand for an Ethernet type and a protocol in the text of matches. Internal to this folder.
#pragma once

#include <cstdint>
#include <string_view>

namespace sluice {

struct Shorthand {
  std::string_view name;
  uint16_t type;
  int protocol;  // -1: any
  bool printed;  // false: taken only, there is another word for it
};
inline constexpr Shorthand kShorthands[] = {
    {"ip", 0x0800, -1, true},    {"ipv4", 0x0800, -1, false}, {"ip4", 0x0800, -1, false},  {"icmp", 0x0800, 1, true},
    {"tcp", 0x0800, 6, true},    {"udp", 0x0800, 17, true},   {"sctp", 0x0800, 132, true}, {"ipv6", 0x86dd, -1, true},
    {"ip6", 0x86dd, -1, false},  {"tcp6", 0x86dd, 6, true},   {"udp6", 0x86dd, 17, true},  {"sctp6", 0x86dd, 132, true},
    {"icmp6", 0x86dd, 58, true}, {"arp", 0x0806, -1, true},   {"rarp", 0x8035, -1, true},  {"mpls", 0x8847, -1, true},
    {"mplsm", 0x8848, -1, true},
};

}  // namespace sluice
