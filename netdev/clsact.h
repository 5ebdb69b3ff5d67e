// A BPF program as direct-action filter at the clsact ingress of a device, by rtnetlink (tc-bpf(8)).
//
// The filter has a fixed place (preference 1, handle 1) and the name "sluice_hook". One of that name that a killed
// process left is replaced; a foreign filter at that place is an error. The clsact qdisc is made where the device has
// none, and goes with the filter if it was made for it (by this object or by the process that left the filter).
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>

namespace sluice {

class ClsactFilter {
 public:
  // In the calling thread's network namespace. `program_fd` is not needed any more afterwards.
  static absl::StatusOr<ClsactFilter> Attach(const std::string& name, uint32_t ifindex, int program_fd);
  // Takes the filter away, if the device still exists.
  ~ClsactFilter();
  ClsactFilter(ClsactFilter&& other) noexcept;
  ClsactFilter& operator=(ClsactFilter&&) = delete;

 private:
  ClsactFilter(uint32_t ifindex, bool owns_qdisc) : ifindex_(ifindex), owns_qdisc_(owns_qdisc) {}

  uint32_t ifindex_;  // 0: moved away
  bool owns_qdisc_;
};

}  // namespace sluice
