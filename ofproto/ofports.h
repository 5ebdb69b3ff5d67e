// OfportAllocator: the OpenFlow port numbers of one bridge (ovs-vswitchd.conf.db(5), Interface:ofport).
//
// A number is an interface's as long as it is in the bridge. Requested numbers are honoured, also when a port has got
// that number by itself: that one gets another. Numbers given by themselves go round the circle 1..32767, so that a
// number just given back is not soon another port's.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

class OfportAllocator {
 public:
  static constexpr uint16_t kMaxAutomatic = 32767;
  static constexpr uint16_t kMaxRequested = 65279;

  // The number of `name`, who wants `request` if given: what it has already, unless that is not what it requests. 0:
  // all numbers are taken. `moved`: whose number was taken for a request; it has a new one now.
  uint16_t Allocate(const std::string& name, std::optional<uint16_t> request, std::optional<std::string>& moved);
  // Keeps the number `ofport`, which is free, for `name`: the local port's.
  void Fix(const std::string& name, uint16_t ofport);
  void Release(std::string_view name);
  uint16_t Find(std::string_view name) const;  // 0: none

 private:
  struct Holder {
    std::string name;
    bool requested = false;
  };
  uint16_t NextFree();
  void Give(const std::string& name, uint16_t ofport, bool requested);

  std::map<uint16_t, Holder> holders_;
  std::map<std::string, uint16_t, std::less<>> numbers_;
  uint16_t last_ = 0;  // given by itself
};

}  // namespace sluice
