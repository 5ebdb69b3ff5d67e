#include "netdev/system/system_options.h"

#include <charconv>
#include <string_view>

#include "lib/base/status.h"

namespace sluice {
namespace {

constexpr uint32_t kLeastBuffer = 64 << 10;
constexpr uint32_t kLargestBuffer = 1 << 30;
constexpr std::string_view kRxBuffer = kSystemOptions[0];
constexpr std::string_view kTxBuffer = kSystemOptions[1];

absl::Status ReadBuffer(const std::string& port, std::string_view option, const NetdevOptions& options,
                        uint32_t& bytes) {
  auto found = options.find(std::string(option));
  if (found == options.end()) return absl::OkStatus();
  const std::string& text = found->second;
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, bytes);
  if (error != std::errc() || stop != end || bytes < kLeastBuffer || bytes > kLargestBuffer) {
    return InvalidArgument("port {}: option {} is \"{}\": expected bytes, from {} to {}", port, option, text,
                           kLeastBuffer, kLargestBuffer);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SystemOptions> SystemOptions::Parse(const std::string& port, const NetdevOptions& options) {
  SystemOptions result;
  auto common = ParsePortOptions(port, options, result.port, kSystemOptions);
  if (!common.ok()) return common.status();
  result.port = *common;
  SLUICE_RETURN_IF_ERROR(ReadBuffer(port, kRxBuffer, options, result.rx_socket_buffer));
  SLUICE_RETURN_IF_ERROR(ReadBuffer(port, kTxBuffer, options, result.tx_socket_buffer));
  return result;
}

NetdevOptions SystemOptions::ToMap() const {
  return {{"n_rxq", std::to_string(port.n_rxq)},
          {"rx-gro", port.rx_gro ? "true" : "false"},
          {std::string(kRxBuffer), std::to_string(rx_socket_buffer)},
          {std::string(kTxBuffer), std::to_string(tx_socket_buffer)}};
}

}  // namespace sluice
