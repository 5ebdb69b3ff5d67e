#include "ofproto/ofports.h"

namespace sluice {

uint16_t OfportAllocator::Find(std::string_view name) const {
  auto it = numbers_.find(name);
  return it == numbers_.end() ? 0 : it->second;
}

void OfportAllocator::Release(std::string_view name) {
  auto it = numbers_.find(name);
  if (it == numbers_.end()) return;
  holders_.erase(it->second);
  numbers_.erase(it);
}

void OfportAllocator::Give(const std::string& name, uint16_t ofport, bool requested) {
  Release(name);
  holders_[ofport] = {.name = name, .requested = requested};
  numbers_[name] = ofport;
}

void OfportAllocator::Fix(const std::string& name, uint16_t ofport) { Give(name, ofport, true); }

uint16_t OfportAllocator::NextFree() {
  for (uint16_t step = 1; step <= kMaxAutomatic; ++step) {
    auto number = static_cast<uint16_t>((last_ + step - 1) % kMaxAutomatic + 1);
    if (!holders_.contains(number)) return last_ = number;
  }
  return 0;
}

uint16_t OfportAllocator::Allocate(const std::string& name, std::optional<uint16_t> request,
                                   std::optional<std::string>& moved) {
  moved.reset();
  const uint16_t current = Find(name);
  if (request && *request >= 1 && *request <= kMaxRequested) {
    auto holder = holders_.find(*request);
    const bool mine = holder != holders_.end() && holder->second.name == name;
    if (holder == holders_.end() || mine) {
      Give(name, *request, true);
      return *request;
    }
    if (!holder->second.requested) {
      std::string other = holder->second.name;
      Release(other);
      Give(name, *request, true);
      if (uint16_t number = NextFree(); number != 0) Give(other, number, false);
      moved = std::move(other);
      return *request;
    }
  }
  if (current != 0) {
    holders_[current].requested = false;
    return current;
  }
  const uint16_t number = NextFree();
  if (number != 0) Give(name, number, false);
  return number;
}

}  // namespace sluice
