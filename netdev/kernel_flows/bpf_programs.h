// The BPF maps and programs of forward.bpf.c, loaded: the adapter to libbpf, which stays inside its .cc. Needs CAP_BPF
// (or CAP_SYS_ADMIN), CAP_NET_ADMIN and Linux 5.12.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>

#include "netdev/file_descriptor.h"
#include "netdev/kernel_flows/abi.h"

namespace sluice {

struct BpfMaps {
  FileDescriptor flows;
  FileDescriptor slots;
  FileDescriptor ports;
  FileDescriptor lanes;
  FileDescriptor decision;
};
absl::StatusOr<BpfMaps> CreateBpfMaps();

// The two programs of one port. They keep the maps that they use.
struct BpfPrograms {
  FileDescriptor filter;   // for the receive sockets (SO_ATTACH_BPF)
  FileDescriptor forward;  // for the kernel hook
};
// `verdict_map` is the KernelHook's; `port` the index of the port in the map "ports".
absl::StatusOr<BpfPrograms> LoadBpfPrograms(const BpfMaps& maps, int verdict_map, uint32_t port);

// The entries of the map "flows". Errors are an errno, 0 for success.
int InsertFlowKey(const BpfMaps& maps, const sluice_flow_key& key, uint32_t slot);
int EraseFlowKey(const BpfMaps& maps, const sluice_flow_key& key);

// The counters of one lane, all processors'. What is not there counts nothing.
absl::Status CreateLane(const BpfMaps& maps, uint32_t lane);
sluice_lane ReadLane(const BpfMaps& maps, uint32_t lane);
void EraseLane(const BpfMaps& maps, uint32_t lane);
sluice_lane& operator+=(sluice_lane& sum, const sluice_lane& lane);

// Returns when no processor runs a program any more that began before the call: some milliseconds.
void WaitForBpfPrograms();

}  // namespace sluice
