#include "ofproto/xlate/composer.h"

#include <algorithm>

namespace sluice {

void ActionComposer::Output(uint32_t port, const TagStack& tags, uint32_t snaplen) {
  ChangeTags(tags);
  if (snaplen != 0) actions_.push_back({TruncAction{snaplen}});
  actions_.push_back({OutputAction{port}});
}

size_t ActionComposer::SharedWith(const TagStack& wanted) {
  size_t shared = 0;
  size_t least = std::min(current_.size(), wanted.size());
  while (shared < least && SameTag(current_.at(shared), wanted.at(shared), looked_at_)) ++shared;
  return shared;
}

size_t ActionComposer::ChangesFor(const TagStack& tags) { return current_.size() + tags.size() - 2 * SharedWith(tags); }

void ActionComposer::ChangeTags(const TagStack& wanted) {
  size_t shared = SharedWith(wanted);
  while (current_.size() > shared) {
    actions_.push_back({PopVlanAction{}});
    current_.Pop();
  }
  while (current_.size() < wanted.size()) {
    const VlanTag& tag = wanted.at(current_.size());
    LookAtPriority(tag, looked_at_);
    actions_.push_back({PushVlanAction{Be16(tag.tpid), Be16(tag.id | tag.priority)}});
    current_.Push(tag);
  }
}

}  // namespace sluice
