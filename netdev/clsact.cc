#include "netdev/clsact.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <netlink/errno.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>

#include <memory>
#include <string_view>

#include "lib/base/status.h"

namespace sluice {
namespace {

constexpr char kFilterName[] = "sluice_hook";
constexpr uint32_t kPreference = 1;
constexpr uint32_t kHandle = 1;

struct SocketDeleter {
  void operator()(nl_sock* socket) const { nl_socket_free(socket); }
};
struct MessageDeleter {
  void operator()(nl_msg* message) const { nlmsg_free(message); }
};
using Socket = std::unique_ptr<nl_sock, SocketDeleter>;
using MessagePtr = std::unique_ptr<nl_msg, MessageDeleter>;

absl::StatusOr<Socket> OpenSocket() {
  Socket socket(nl_socket_alloc());
  int error = socket == nullptr ? -NLE_NOMEM : nl_connect(socket.get(), NETLINK_ROUTE);
  if (error < 0) return FailedPrecondition("rtnetlink socket for tc: {}", nl_geterror(error));
  return socket;
}

MessagePtr MakeMessage(int type, int flags, const tcmsg& head) {
  MessagePtr message(nlmsg_alloc_simple(type, flags));
  tcmsg copy = head;
  nlmsg_append(message.get(), &copy, sizeof(copy), NLMSG_ALIGNTO);
  return message;
}

// 0 or a negative NLE_ code.
int Send(nl_sock* socket, MessagePtr message) { return nl_send_sync(socket, message.release()); }

tcmsg QdiscHead(uint32_t ifindex) {
  return {.tcm_ifindex = static_cast<int>(ifindex), .tcm_handle = TC_H_MAKE(TC_H_CLSACT, 0), .tcm_parent = TC_H_CLSACT};
}

tcmsg FilterHead(uint32_t ifindex) {
  return {.tcm_ifindex = static_cast<int>(ifindex),
          .tcm_handle = kHandle,
          .tcm_parent = TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS),
          .tcm_info = TC_H_MAKE(kPreference << 16, htons(ETH_P_ALL))};
}

MessagePtr QdiscMessage(int type, int flags, uint32_t ifindex) {
  MessagePtr message = MakeMessage(type, flags, QdiscHead(ifindex));
  nla_put_string(message.get(), TCA_KIND, "clsact");
  return message;
}

MessagePtr FilterMessage(int type, int flags, uint32_t ifindex) {
  MessagePtr message = MakeMessage(type, flags, FilterHead(ifindex));
  nla_put_string(message.get(), TCA_KIND, "bpf");
  return message;
}

MessagePtr NewFilterMessage(uint32_t ifindex, int program_fd) {
  MessagePtr message = FilterMessage(RTM_NEWTFILTER, NLM_F_CREATE | NLM_F_EXCL, ifindex);
  nlattr* options = nla_nest_start(message.get(), TCA_OPTIONS);
  nla_put_u32(message.get(), TCA_BPF_FD, static_cast<uint32_t>(program_fd));
  nla_put_string(message.get(), TCA_BPF_NAME, kFilterName);
  nla_put_u32(message.get(), TCA_BPF_FLAGS, TCA_BPF_FLAG_ACT_DIRECT);
  nla_nest_end(message.get(), options);
  return message;
}

// Takes the name of a filter that RTM_GETTFILTER answered with.
int TakeName(nl_msg* message, void* argument) {
  nlattr* attributes[TCA_MAX + 1];
  nlattr* options[TCA_BPF_MAX + 1];
  if (nlmsg_parse(nlmsg_hdr(message), sizeof(tcmsg), attributes, TCA_MAX, nullptr) < 0) return NL_SKIP;
  if (attributes[TCA_OPTIONS] == nullptr) return NL_SKIP;
  if (nla_parse_nested(options, TCA_BPF_MAX, attributes[TCA_OPTIONS], nullptr) < 0) return NL_SKIP;
  if (options[TCA_BPF_NAME] != nullptr) *static_cast<std::string*>(argument) = nla_get_string(options[TCA_BPF_NAME]);
  return NL_OK;
}

// The name of the BPF filter at our place, empty if there is none.
std::string NameOfPresentFilter(nl_sock* socket, uint32_t ifindex) {
  std::string name;
  MessagePtr request = FilterMessage(RTM_GETTFILTER, 0, ifindex);
  nl_socket_modify_cb(socket, NL_CB_VALID, NL_CB_CUSTOM, TakeName, &name);
  if (nl_send_auto(socket, request.get()) >= 0) {
    nl_recvmsgs_default(socket);  // the filter, or the error that there is none
    nl_wait_for_ack(socket);
  }
  return name;
}

}  // namespace

absl::StatusOr<ClsactFilter> ClsactFilter::Attach(const std::string& name, uint32_t ifindex, int program_fd) {
  auto socket = OpenSocket();
  if (!socket.ok()) return socket.status();
  nl_sock* nl = socket->get();
  int error = Send(nl, QdiscMessage(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL, ifindex));
  if (error < 0 && error != -NLE_EXIST) {
    return FailedPrecondition("{}: making the clsact qdisc: {}", name, nl_geterror(error));
  }
  bool owns_qdisc = error == 0;
  error = Send(nl, NewFilterMessage(ifindex, program_fd));
  if (error == -NLE_EXIST) {
    auto query = OpenSocket();
    if (!query.ok()) return query.status();
    if (NameOfPresentFilter(query->get(), ifindex) != kFilterName) {
      return AlreadyExists(
          "{}: the place of the kernel hook (clsact ingress, preference {}, handle {}) is taken by another "
          "filter: expected none or a BPF filter called {}",
          name, kPreference, kHandle, kFilterName);
    }
    Send(nl, FilterMessage(RTM_DELTFILTER, 0, ifindex));
    owns_qdisc = true;
    error = Send(nl, NewFilterMessage(ifindex, program_fd));
  }
  if (error < 0) {
    if (owns_qdisc) Send(nl, QdiscMessage(RTM_DELQDISC, 0, ifindex));
    return FailedPrecondition("{}: attaching the kernel hook (clsact filter): {}", name, nl_geterror(error));
  }
  return ClsactFilter(ifindex, owns_qdisc);
}

ClsactFilter::ClsactFilter(ClsactFilter&& other) noexcept
    : ifindex_(std::exchange(other.ifindex_, 0)), owns_qdisc_(other.owns_qdisc_) {}

ClsactFilter::~ClsactFilter() {
  if (ifindex_ == 0) return;
  auto socket = OpenSocket();
  if (!socket.ok()) return;
  Send(socket->get(), FilterMessage(RTM_DELTFILTER, 0, ifindex_));
  if (owns_qdisc_) Send(socket->get(), QdiscMessage(RTM_DELQDISC, 0, ifindex_));
}

}  // namespace sluice
