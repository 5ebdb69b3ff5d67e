// The kinds of ports that there are, by the name that users give in a port's type.
#include <fmt/ranges.h>

#include <algorithm>

#include "lib/base/status.h"
#include "netdev/dummy/dummy_netdev.h"
#include "netdev/netdev.h"
#include "netdev/port_options.h"
#include "netdev/system/system_netdev.h"
#include "netdev/system/system_options.h"
#include "netdev/tap/tap_netdev.h"

namespace sluice {

absl::Status Netdev::JoinKernelFlows(const absl::StatusOr<KernelFlows*>&) {
  return MakeStatus(absl::StatusCode::kUnimplemented,
                    fmt::format("{}: the kernel forwards between ports of type system only", name()));
}
namespace {

struct Provider {
  std::string_view type;
  absl::StatusOr<std::unique_ptr<Netdev>> (*open)(const std::string& name, const NetdevOptions& options);
  absl::Span<const std::string_view> options = {};  // besides those of every port
};

constexpr Provider kProviders[] = {
    {"dummy", OpenDummyNetdev, kDummyOptions},
    {"internal", OpenInternalNetdev},
    {"system", OpenSystemNetdev, kSystemOptions},
    {"tap", OpenTapNetdev},
};

// nullptr if there is no such type.
const Provider* FindProvider(std::string_view type) {
  std::string_view wanted = type.empty() ? "system" : type;
  for (const Provider& provider : kProviders) {
    if (provider.type == wanted) return &provider;
  }
  return nullptr;
}

}  // namespace

bool HasPortOption(std::string_view type, std::string_view option) {
  auto in = [option](absl::Span<const std::string_view> names) {
    return std::find(names.begin(), names.end(), option) != names.end();
  };
  const Provider* provider = FindProvider(type);
  return in(kCommonPortOptions) || (provider != nullptr && in(provider->options));
}

std::vector<std::string> NetdevTypes() {
  std::vector<std::string> types;
  for (const Provider& provider : kProviders) types.emplace_back(provider.type);
  return types;
}

absl::StatusOr<std::unique_ptr<Netdev>> OpenNetdev(const std::string& name, std::string_view type,
                                                   const NetdevOptions& options) {
  SLUICE_RETURN_IF_ERROR(CheckPortName(name));
  if (const Provider* provider = FindProvider(type)) return provider->open(name, options);
  return InvalidArgument("port {}: unknown type \"{}\": expected one of {}", name, type,
                         fmt::join(NetdevTypes(), ", "));
}

}  // namespace sluice
