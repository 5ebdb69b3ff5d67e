#include "netdev/link_monitor.h"

#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <netlink/errno.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>

#include <utility>
#include <vector>

#include "lib/base/coverage.h"
#include "lib/base/status.h"

namespace sluice {
namespace {

SLUICE_COVERAGE_DEFINE(link_monitor_overflow);

// A burst of changes (hundreds of interfaces made at once) must fit between two turns of the main loop.
constexpr int kSocketBuffer = 1 << 20;  // bytes

}  // namespace

absl::StatusOr<std::unique_ptr<LinkMonitor>> LinkMonitor::Open() {
  std::unique_ptr<LinkMonitor> monitor(new LinkMonitor(nl_socket_alloc()));
  nl_sock* socket = monitor->socket_;
  if (socket == nullptr) return ResourceExhausted("link monitor: no memory for a netlink socket");
  nl_socket_disable_seq_check(socket);  // notifications have none
  nl_socket_modify_cb(socket, NL_CB_VALID, NL_CB_CUSTOM, TakeMessage, monitor.get());
  int error = nl_connect(socket, NETLINK_ROUTE);
  if (error == 0) error = nl_socket_set_buffer_size(socket, kSocketBuffer, 0);
  if (error == 0) error = nl_socket_add_membership(socket, RTNLGRP_LINK);
  if (error < 0) return FailedPrecondition("link monitor: rtnetlink socket: {}", nl_geterror(error));
  if (!monitor->DumpLinks()) return FailedPrecondition("link monitor: the kernel does not list its interfaces");
  error = nl_socket_set_nonblocking(socket);
  if (error < 0) return FailedPrecondition("link monitor: rtnetlink socket: {}", nl_geterror(error));
  monitor->changed_.clear();
  return monitor;
}

LinkMonitor::~LinkMonitor() { nl_socket_free(socket_); }

int LinkMonitor::fd() const { return nl_socket_get_fd(socket_); }

// Asks for all interfaces; the answers come as the notifications do. On the blocking socket of Open() waits for them.
bool LinkMonitor::DumpLinks() {
  ifinfomsg request{.ifi_family = AF_UNSPEC};
  int error = nl_send_simple(socket_, RTM_GETLINK, NLM_F_DUMP, &request, sizeof(request));
  return error >= 0 && nl_recvmsgs_default(socket_) >= 0;
}

int LinkMonitor::TakeMessage(nl_msg* message, void* argument) {
  const nlmsghdr* header = nlmsg_hdr(message);
  if (header->nlmsg_type != RTM_NEWLINK && header->nlmsg_type != RTM_DELLINK) return NL_SKIP;
  nlattr* attributes[IFLA_MAX + 1];
  if (nlmsg_parse(const_cast<nlmsghdr*>(header), sizeof(ifinfomsg), attributes, IFLA_MAX, nullptr) < 0) return NL_SKIP;
  const auto* info = static_cast<const ifinfomsg*>(nlmsg_data(header));
  // Bridges tell of their ports' state in messages of their own family, which delete nothing.
  if (info->ifi_family != AF_UNSPEC || attributes[IFLA_IFNAME] == nullptr) return NL_SKIP;
  static_cast<LinkMonitor*>(argument)->NoteLink(static_cast<uint32_t>(info->ifi_index),
                                                nla_get_string(attributes[IFLA_IFNAME]),
                                                header->nlmsg_type == RTM_NEWLINK);
  return NL_OK;
}

void LinkMonitor::NoteLink(uint32_t ifindex, std::string name, bool exists) {
  auto known = names_.find(ifindex);
  // Renamed: the old name has lost its interface.
  if (known != names_.end() && known->second != name) changed_.insert(known->second);
  changed_.insert(name);
  if (exists) {
    names_[ifindex] = std::move(name);
  } else {
    names_.erase(ifindex);
  }
}

void LinkMonitor::HandleEvents() {
  for (;;) {
    int error = nl_recvmsgs_default(socket_);
    if (error == -NLE_AGAIN) break;
    if (error == -NLE_INTR || error == -NLE_DUMP_INTR) continue;
    if (error == -NLE_NOMEM) {
      // ENOBUFS: notifications were lost. Watchers look at their interfaces themselves; our names are asked for again.
      SLUICE_COVERAGE_INC(link_monitor_overflow);
      all_changed_ = true;
      names_.clear();
      DumpLinks();
      continue;
    }
    if (error < 0) break;
  }
  CallWatchers();
}

void LinkMonitor::CallWatchers() {
  absl::flat_hash_set<std::string> changed = std::exchange(changed_, {});
  bool all = std::exchange(all_changed_, false);
  if (!all && changed.empty()) return;
  std::vector<uint64_t> concerned;
  for (const auto& [id, watcher] : watchers_) {
    if (!watcher.name.empty() && (all || changed.contains(watcher.name))) concerned.push_back(id);
  }
  for (const auto& [id, watcher] : watchers_) {
    if (watcher.name.empty()) concerned.push_back(id);
  }
  for (uint64_t id : concerned) {
    auto found = watchers_.find(id);
    if (found == watchers_.end()) continue;  // cancelled by one before
    Callback callback = found->second.callback;
    callback();
  }
}

LinkMonitor::Watch LinkMonitor::WatchName(std::string name, Callback callback) {
  uint64_t id = next_id_++;
  watchers_.emplace(id, Watcher{std::move(name), std::move(callback)});
  return Watch(this, id);
}

LinkMonitor::Watch LinkMonitor::WatchAll(Callback callback) { return WatchName("", std::move(callback)); }

LinkMonitor::Watch::Watch(Watch&& other) noexcept : monitor_(std::exchange(other.monitor_, nullptr)), id_(other.id_) {}

LinkMonitor::Watch& LinkMonitor::Watch::operator=(Watch&& other) noexcept {
  if (this != &other) {
    Cancel();
    monitor_ = std::exchange(other.monitor_, nullptr);
    id_ = other.id_;
  }
  return *this;
}

void LinkMonitor::Watch::Cancel() {
  if (LinkMonitor* monitor = std::exchange(monitor_, nullptr)) monitor->watchers_.erase(id_);
}

}  // namespace sluice
