#include "ofproto/xlate/composer.h"

#include <algorithm>

#include "ofproto/xlate/openflow/header_changes.h"

namespace sluice {

void ActionComposer::Add(Action action) {
  actions_->push_back(std::move(action));
  ++size_;
}

void ActionComposer::Commit(const FlowKey& packet, const TagStack& tags, bool knows_payload) {
  const size_t before = actions_->size();
  CommitHeaders(packet, looked_at_, knows_payload, packet_, *actions_);
  size_ += actions_->size() - before;
  ChangeTags(tags);
  const size_t marks = actions_->size();
  CommitMarks(packet, packet_, *actions_);
  size_ += actions_->size() - marks;
}

void ActionComposer::Output(uint32_t port, uint32_t snaplen) {
  if (snaplen != 0) Add({TruncAction{snaplen}});
  Add({OutputAction{port}});
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
    Add({PopVlanAction{}});
    current_.Pop();
  }
  while (current_.size() < wanted.size()) {
    const VlanTag& tag = wanted.at(current_.size());
    LookAtPriority(tag, looked_at_);
    Add({PushVlanAction{Be16(tag.tpid), Be16(static_cast<uint16_t>(tag.id | tag.priority))}});
    current_.Push(tag);
  }
}

}  // namespace sluice
