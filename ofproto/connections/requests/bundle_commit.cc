#include "ofproto/connections/requests/bundle_commit.h"

#include <algorithm>

#include "ofproto/connections/requests/checks.h"

namespace sluice {
namespace {

class Commit {
 public:
  Commit(OfRequest& request, std::vector<BundledMessage>& messages)
      : request_(request), pipeline_(request.pipeline()), messages_(messages) {}

  std::optional<BundleFailure> Run() {
    const std::vector<GroupPtr> groups = pipeline_.groups.Snapshot();
    std::optional<BundleFailure> failed = Prepare();
    if (!failed) failed = ApplyFlows();
    if (failed) {
      if (groups_changed_) pipeline_.groups.Restore(groups);
      return failed;
    }
    if (groups_changed_) request_.of_switch().PipelineChanged();
    return ApplyRest();
  }

 private:
  // In the order of the bundle, so that a flow may use a group that is added before it and not one that is gone.
  std::optional<BundleFailure> Prepare() {
    ports_ = request_.of_switch().ports();
    for (size_t i = 0; i < messages_.size(); ++i) {
      OfStatus failed = std::visit([this, i](auto& body) { return PrepareOne(i, body); }, messages_[i].message.body);
      if (failed) return BundleFailure{i, *std::move(failed)};
    }
    return std::nullopt;
  }

  OfStatus PrepareOne(size_t index, FlowMod& mod) {
    if (OfStatus failed = CheckFlowMod(mod, messages_[index].message.version, pipeline_)) return failed;
    AddFlowMod(index, std::move(mod));
    return std::nullopt;
  }
  OfStatus PrepareOne(size_t index, const GroupMod& mod) {
    if (OfStatus failed = CheckGroupMod(mod, pipeline_)) return failed;
    groups_changed_ = true;
    return pipeline_.groups.Apply(mod, [this, index](uint32_t group) {
      // Its flows go with the others, at once.
      AddFlowMod(index, {.command = FlowCommand::kDelete, .out_group = group});
    });
  }
  OfStatus PrepareOne(size_t, const OfPortMod& mod) {
    const auto port =
        std::find_if(ports_.begin(), ports_.end(), [&mod](const OfPortDesc& desc) { return desc.port == mod.port; });
    if (port == ports_.end()) return OfFailure{OfError::kPmfcBadPort, fmt::format("port {} does not exist", mod.port)};
    if (port->mac == mod.mac) return std::nullopt;
    return OfFailure{OfError::kPmfcBadHwAddr, fmt::format("port {} has another hardware address", mod.port)};
  }
  OfStatus PrepareOne(size_t index, const OfPacketOut& out) {
    return CheckPacketOut(out, messages_[index].message.version, pipeline_);
  }
  template <typename Body>
  OfStatus PrepareOne(size_t, const Body&) {
    return OfFailure{OfError::kBfcMsgUnsup, "the message cannot be in a bundle"};
  }

  void AddFlowMod(size_t index, FlowMod mod) {
    flow_mods_.push_back(std::move(mod));
    indexes_.push_back(index);
  }

  std::optional<BundleFailure> ApplyFlows() {
    if (flow_mods_.empty()) return std::nullopt;
    size_t index = 0;
    OfStatus failed = pipeline_.tables.ApplyAll(flow_mods_, request_.requester(), &index);
    if (!failed) return std::nullopt;
    return BundleFailure{index < indexes_.size() ? indexes_[index] : 0, *std::move(failed)};
  }

  std::optional<BundleFailure> ApplyRest() {
    for (size_t i = 0; i < messages_.size(); ++i) {
      OfStatus failed;
      OfBody& body = messages_[i].message.body;
      if (const auto* mod = std::get_if<OfPortMod>(&body)) failed = request_.of_switch().ModifyPort(*mod);
      if (const auto* out = std::get_if<OfPacketOut>(&body)) failed = request_.of_switch().ExecutePacketOut(*out);
      if (failed) return BundleFailure{i, *std::move(failed)};
    }
    return std::nullopt;
  }

  OfRequest& request_;
  OfPipeline& pipeline_;
  std::vector<BundledMessage>& messages_;
  std::vector<OfPortDesc> ports_;
  std::vector<FlowMod> flow_mods_;
  std::vector<size_t> indexes_;  // of the message that each came from
  bool groups_changed_ = false;
};

}  // namespace

std::optional<BundleFailure> CommitBundle(OfRequest& request, std::vector<BundledMessage>& messages) {
  return Commit(request, messages).Run();
}

}  // namespace sluice
