#include "datapath/datapath_manager.h"

#include "lib/base/status.h"

namespace sluice {
namespace {

// NAME of "netdev@NAME" or "NAME".
absl::StatusOr<std::string> PlainName(std::string_view name) {
  std::string_view plain = name;
  if (size_t at = name.find('@'); at != std::string_view::npos) {
    if (name.substr(0, at) != DatapathManager::kType) {
      return InvalidArgument("datapath {}: unknown type {}, expected netdev", name, name.substr(0, at));
    }
    plain = name.substr(at + 1);
  }
  if (plain.empty() || plain.find_first_of(" \t\n@/") != std::string_view::npos) {
    return InvalidArgument("datapath \"{}\": expected a name without spaces and slashes, as in netdev@dp0", name);
  }
  return std::string(plain);
}

}  // namespace

bool IsDatapathName(std::string_view text) { return text.find('@') != std::string_view::npos; }

absl::StatusOr<Datapath*> DatapathManager::Add(std::string_view name) {
  auto plain = PlainName(name);
  if (!plain.ok()) return plain.status();
  if (datapaths_.contains(*plain)) return AlreadyExists("datapath {}@{} exists already", kType, *plain);
  auto datapath = Datapath::Create(*plain, config_);
  if (!datapath.ok()) return datapath.status();
  return (datapaths_[*plain] = *std::move(datapath)).get();
}

absl::Status DatapathManager::Remove(std::string_view name) {
  auto datapath = Find(name);
  if (!datapath.ok()) return datapath.status();
  if (auto owner = owners_.find((*datapath)->name()); owner != owners_.end()) {
    return FailedPrecondition("datapath {}@{} is in use by {}", kType, owner->first, owner->second);
  }
  datapaths_.erase(datapaths_.find((*datapath)->name()));
  return absl::OkStatus();
}

void DatapathManager::SetOwner(const Datapath& datapath, std::string owner) {
  if (owner.empty()) {
    owners_.erase(datapath.name());
  } else {
    owners_[datapath.name()] = std::move(owner);
  }
}

absl::Status DatapathManager::CheckElsewhere(const Datapath& datapath, std::string_view port_name) const {
  for (const auto& [other_name, other] : datapaths_) {
    if (other.get() == &datapath || other->FindPort(port_name) == nullptr) continue;
    return AlreadyExists("port {} is in datapath {} already: delete it there first", port_name, other_name);
  }
  return absl::OkStatus();
}

absl::StatusOr<uint32_t> DatapathManager::AddPort(Datapath& datapath, const std::string& name, std::string_view type,
                                                  const NetdevOptions& options, std::optional<uint32_t> number) const {
  SLUICE_RETURN_IF_ERROR(CheckElsewhere(datapath, name));
  return datapath.AddPort(name, type, options, number);
}

std::vector<absl::StatusOr<uint32_t>> DatapathManager::AddPorts(
    Datapath& datapath, absl::Span<const Datapath::PortRequest> requests) const {
  std::vector<absl::StatusOr<uint32_t>> answers(requests.size(), uint32_t{0});
  std::vector<Datapath::PortRequest> accepted;
  std::vector<size_t> places;
  for (size_t i = 0; i < requests.size(); ++i) {
    if (absl::Status elsewhere = CheckElsewhere(datapath, requests[i].name); !elsewhere.ok()) {
      answers[i] = elsewhere;
      continue;
    }
    accepted.push_back(requests[i]);
    places.push_back(i);
  }
  auto added = datapath.AddPorts(accepted);
  for (size_t i = 0; i < added.size(); ++i) answers[places[i]] = std::move(added[i]);
  return answers;
}

absl::StatusOr<Datapath*> DatapathManager::Find(std::string_view name) const {
  if (name.empty()) {
    if (datapaths_.size() == 1) return datapaths_.begin()->second.get();
    if (datapaths_.empty()) return NotFound("there is no datapath: add one first, as in dpctl/add-dp netdev@dp0");
    return InvalidArgument("there are {} datapaths: name one, as in netdev@{}", datapaths_.size(),
                           datapaths_.begin()->first);
  }
  auto plain = PlainName(name);
  if (!plain.ok()) return plain.status();
  auto it = datapaths_.find(*plain);
  if (it == datapaths_.end()) return NotFound("there is no datapath {}@{}: dpctl/dump-dps lists them", kType, *plain);
  return it->second.get();
}

absl::Status DatapathManager::SetPmdCores(const std::optional<CpuSet>& cores) {
  SLUICE_RETURN_IF_ERROR(CheckPmdCores(cores));
  for (auto& [name, datapath] : datapaths_) {
    absl::Status status = datapath->SetPmdCores(cores);
    if (status.ok()) continue;
    // It failed in this one: those before go back to what they had, which worked.
    for (auto& [changed, other] : datapaths_) {
      if (changed == name) break;
      static_cast<void>(other->SetPmdCores(config_.pmd_cores));
    }
    return status;
  }
  config_.pmd_cores = cores;
  return absl::OkStatus();
}

void DatapathManager::SetTso(bool enabled) {
  config_.tso = enabled;
  for (auto& [name, datapath] : datapaths_) datapath->SetTso(enabled);
}

void DatapathManager::SetKernelForwarding(bool enabled) {
  config_.kernel_forwarding = enabled;
  for (auto& [name, datapath] : datapaths_) datapath->SetKernelForwarding(enabled);
}

void DatapathManager::SetAssignment(RxqAssignment assignment, bool isolate) {
  config_.assignment = assignment;
  config_.isolate = isolate;
  for (auto& [name, datapath] : datapaths_) datapath->SetAssignment(assignment, isolate);
}

void DatapathManager::PollLinks() {
  for (auto& [name, datapath] : datapaths_) datapath->PollLinks();
}

void DatapathManager::Tick() {
  for (auto& [name, datapath] : datapaths_) datapath->Tick();
}

}  // namespace sluice
