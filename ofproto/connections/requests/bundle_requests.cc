// Bundles (OpenFlow 1.4+, 7.3.9): open, fill, close, commit, discard. As Open vSwitch does, a bundle that is used
// wrongly is discarded with the error.
#include "ofproto/connections/requests/bundle_commit.h"
#include "ofproto/connections/requests/request_table.h"

namespace sluice {
namespace {

using Type = OfBundleControl::Type;

OfFailure Failure(OfError error, uint32_t bundle, std::string_view what) {
  return {error, fmt::format("bundle {:#x} {}", bundle, what)};
}

void Answer(OfRequest& request, const OfBundleControl& control, Type type) {
  request.Reply(OfBundleControl{.bundle = control.bundle, .type = static_cast<uint16_t>(type), .flags = control.flags});
}

OfStatus Open(OfRequest& request, const OfBundleControl& control) {
  PendingBundles& bundles = request.from.bundles;
  if (bundles.erase(control.bundle) != 0) return Failure(OfError::kBfcBadId, control.bundle, "exists already");
  if (bundles.size() >= PendingBundle::kMaxBundles) {
    return Failure(OfError::kBfcOutOfBundles, control.bundle, "is one more than a connection may have");
  }
  bundles[control.bundle] = {.flags = control.flags, .used = OfConnection::Clock::now()};
  Answer(request, control, Type::kOpenReply);
  return std::nullopt;
}

// The bundle of a request, if its flags are those with which it was opened.
OfResult<PendingBundles::iterator> Find(OfRequest& request, uint32_t id, uint16_t flags) {
  PendingBundles& bundles = request.from.bundles;
  auto bundle = bundles.find(id);
  if (bundle == bundles.end()) return Failure(OfError::kBfcBadId, id, "does not exist");
  bundle->second.used = OfConnection::Clock::now();
  if (bundle->second.flags == flags) return bundle;
  bundles.erase(bundle);
  return Failure(OfError::kBfcBadFlags, id, "was opened with other flags");
}

OfStatus Close(OfRequest& request, const OfBundleControl& control) {
  auto bundle = Find(request, control.bundle, control.flags);
  if (!bundle.ok()) return bundle.failure();
  if (std::exchange((*bundle)->second.closed, true)) {
    request.from.bundles.erase(*bundle);
    return Failure(OfError::kBfcBundleClosed, control.bundle, "is closed already");
  }
  Answer(request, control, Type::kCloseReply);
  return std::nullopt;
}

OfStatus Commit(OfRequest& request, const OfBundleControl& control) {
  auto bundle = Find(request, control.bundle, control.flags);
  if (!bundle.ok()) return bundle.failure();
  std::vector<BundledMessage> messages = std::move((*bundle)->second.messages);
  request.from.bundles.erase(*bundle);
  if (std::optional<BundleFailure> failed = CommitBundle(request, messages)) {
    const BundledMessage& culprit = messages[failed->index];
    request.from.SendError(failed->failure, culprit.start, culprit.message.xid);
    return Failure(OfError::kBfcMsgFailed, control.bundle,
                   fmt::format("is not committed: message {} failed: {}", failed->index + 1, failed->failure.message));
  }
  Answer(request, control, Type::kCommitReply);
  return std::nullopt;
}

OfStatus Discard(OfRequest& request, const OfBundleControl& control) {
  if (request.from.bundles.erase(control.bundle) == 0) {
    return Failure(OfError::kBfcBadId, control.bundle, "does not exist");
  }
  Answer(request, control, Type::kDiscardReply);
  return std::nullopt;
}

OfStatus Control(OfRequest& request, OfBundleControl& control) {
  switch (static_cast<Type>(control.type)) {
    case Type::kOpenRequest:
      return Open(request, control);
    case Type::kCloseRequest:
      return Close(request, control);
    case Type::kCommitRequest:
      return Commit(request, control);
    case Type::kDiscardRequest:
      return Discard(request, control);
    default:
      return Failure(OfError::kBfcBadType, control.bundle, fmt::format("gets a message of type {}", control.type));
  }
}

size_t CountMessages(const PendingBundles& bundles) {
  size_t count = 0;
  for (const auto& [id, bundle] : bundles) count += bundle.messages.size();
  return count;
}

// Whether a message of this kind may be in a bundle.
bool IsBundleable(const OfBody& body) {
  return std::holds_alternative<FlowMod>(body) || std::holds_alternative<GroupMod>(body) ||
         std::holds_alternative<OfPortMod>(body) || std::holds_alternative<OfPacketOut>(body);
}

OfResult<OfMessage> DecodeBundled(OfRequest& request, const OfBundleAdd& add) {
  if (add.message.size() < kOfHeaderSize) {
    return Failure(OfError::kBfcMsgBadLen, add.bundle, "is given a message shorter than a header");
  }
  const OfHeader header = ReadHeader(AsBytes(add.message));
  if (header.length > add.message.size() || header.length < kOfHeaderSize) {
    return Failure(OfError::kBfcMsgBadLen, add.bundle, "is given a message of another length than it says");
  }
  if (header.xid != request.message.xid) {
    return Failure(OfError::kBfcMsgBadXid, add.bundle, "is given a message with another transaction id");
  }
  if (header.version != static_cast<uint8_t>(request.version())) {
    return Failure(OfError::kBfcMsgUnsup, add.bundle, "is given a message of another version");
  }
  OfResult<OfMessage> message = DecodeMessage(AsBytes(add.message).subspan(0, header.length), request.from.codec);
  if (message.ok() && !IsBundleable(message->body)) {
    return Failure(OfError::kBfcMsgUnsup, add.bundle,
                   fmt::format("cannot have {} in it", MessageName(AsBytes(add.message))));
  }
  return message;
}

OfStatus Add(OfRequest& request, OfBundleAdd& add) {
  PendingBundles& bundles = request.from.bundles;
  OfResult<OfMessage> message = DecodeBundled(request, add);
  if (!message.ok()) return message.failure();
  if (!bundles.contains(add.bundle)) {  // opened by its first message
    if (bundles.size() >= PendingBundle::kMaxBundles) {
      return Failure(OfError::kBfcOutOfBundles, add.bundle, "is one more than a connection may have");
    }
    bundles[add.bundle].flags = add.flags;
  }
  auto bundle = Find(request, add.bundle, add.flags);
  if (!bundle.ok()) return bundle.failure();
  if ((*bundle)->second.closed) {
    bundles.erase(*bundle);
    return Failure(OfError::kBfcBundleClosed, add.bundle, "is closed: nothing can be added");
  }
  if (CountMessages(bundles) >= PendingBundle::kMaxMessages) {
    return Failure(OfError::kBfcMsgTooMany, add.bundle,
                   fmt::format("cannot take more: {} messages wait", PendingBundle::kMaxMessages));
  }
  (*bundle)->second.messages.push_back({*std::move(message), add.message.substr(0, 64)});
  return std::nullopt;
}

}  // namespace

void AddBundleRequests(RequestTable& table) {
  table.AddChange<OfBundleControl>(Control);
  table.AddChange<OfBundleAdd>(Add);
}

}  // namespace sluice
