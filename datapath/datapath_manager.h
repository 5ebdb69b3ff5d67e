// DatapathManager: the datapaths of this process by name, and the settings that hold for all of them.
//
// Names are those of Open vSwitch's dpctl: "netdev@NAME", or NAME alone. Main thread. A setting takes effect in every
// datapath, or in none.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "datapath/datapath.h"

namespace sluice {

class DatapathManager {
 public:
  static constexpr std::string_view kType = "netdev";

  explicit DatapathManager(DatapathConfig defaults = {}) : config_(std::move(defaults)) {}

  absl::StatusOr<Datapath*> Add(std::string_view name);
  absl::Status Remove(std::string_view name);
  // `owner` (a few words for a message) relies on the datapath: Remove() refuses until the owner is "" again.
  void SetOwner(const Datapath& datapath, std::string owner);
  // Datapath::AddPort(). A device is a port of one datapath only: two would both take every frame.
  absl::StatusOr<uint32_t> AddPort(Datapath& datapath, const std::string& name, std::string_view type,
                                   const NetdevOptions& options, std::optional<uint32_t> number) const;
  // Datapath::AddPorts(), by the same rule.
  std::vector<absl::StatusOr<uint32_t>> AddPorts(Datapath& datapath,
                                                 absl::Span<const Datapath::PortRequest> requests) const;
  // "" means the only one there is.
  absl::StatusOr<Datapath*> Find(std::string_view name) const;
  const std::map<std::string, std::unique_ptr<Datapath>, std::less<>>& datapaths() const { return datapaths_; }

  const DatapathConfig& config() const { return config_; }
  absl::Status SetPmdCores(const std::optional<CpuSet>& cores);
  void SetTso(bool enabled);
  void SetKernelForwarding(bool enabled);
  void SetAssignment(RxqAssignment assignment, bool isolate);

  // Call once per period.
  static constexpr std::chrono::seconds kTickPeriod{5};
  void Tick();
  static constexpr std::chrono::seconds kLinkPollPeriod{1};
  void PollLinks();

 private:
  // kAlreadyExists if another datapath has a port of this name.
  absl::Status CheckElsewhere(const Datapath& datapath, std::string_view port_name) const;

  DatapathConfig config_;
  std::map<std::string, std::unique_ptr<Datapath>, std::less<>> datapaths_;  // by name without type
  std::map<std::string, std::string, std::less<>> owners_;                   // of those that have one
};

// Whether `text` is the name of a datapath as dpctl writes it: with a type in front.
bool IsDatapathName(std::string_view text);

}  // namespace sluice
