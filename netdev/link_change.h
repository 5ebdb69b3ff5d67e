// Changes of a network interface of the calling thread's namespace, by name: netdevice(7). Main thread.
#pragma once

#include <absl/status/status.h>

#include <array>
#include <cstdint>
#include <string>

namespace sluice {

// kNotFound if there is no interface of that name; other errors say what the kernel refused. mtu: bytes of layer 3.
absl::Status SetLinkMtu(const std::string& name, uint32_t mtu);
absl::Status SetLinkMac(const std::string& name, const std::array<uint8_t, 6>& mac);

}  // namespace sluice
