// list-ports, add-port, add-bond, add-bond-iface, del-bond-iface, del-port, port-to-br, list-ifaces, iface-to-br.
#include <algorithm>

#include "utilities/vsctl/commands.h"

namespace sluice::vsctl {
namespace {

// Where "column=value" arguments begin: what has a '=' is no interface's name.
size_t FirstSetting(const Invocation& invocation, size_t from) {
  while (from < invocation.argv.size() && invocation.argv[from].find('=') == std::string::npos) ++from;
  return from;
}

// --may-exist: whether the port that is there is the one asked for.
absl::Status CheckExisting(const Context& context, const Port& port, std::vector<std::string> interfaces) {
  if (port.bridge->name != context.arg(1)) {
    return InvalidArgument("\"{}\" but {} is actually attached to bridge {}", context.invocation.ToString(), port.name,
                           port.bridge->name);
  }
  std::sort(interfaces.begin(), interfaces.end());
  if (interfaces != port.interfaces) {
    return InvalidArgument("\"{}\" but {} actually has interface(s) {}", context.invocation.ToString(), port.name,
                           fmt::join(port.interfaces, ", "));
  }
  return absl::OkStatus();
}

absl::Status AddPort(Context& context, const std::vector<std::string>& interfaces, size_t first_setting) {
  const std::string& name = context.arg(2);
  if (name.empty()) return InvalidArgument("port name must not be empty string");
  Topology& topology = context.topology;
  const Port* existing = topology.FindPort(name);
  if (existing != nullptr && context.invocation.Has("--may-exist")) {
    return CheckExisting(context, *existing, interfaces);
  }
  SLUICE_RETURN_IF_ERROR(topology.CheckFree(name, fmt::format("cannot create a port named {}", name)));
  for (const std::string& interface : interfaces) {
    if (interface.empty()) return InvalidArgument("interface name must not be empty string");
    SLUICE_RETURN_IF_ERROR(
        topology.CheckFree(interface, fmt::format("cannot create an interface named {}", interface)));
  }
  const absl::StatusOr<Bridge*> bridge = topology.GetBridge(context.arg(1));
  if (!bridge.ok()) return bridge.status();
  const bool has_children = (*bridge)->is_fake() || !(*bridge)->children.empty();
  const Uuid row = topology.AddPort(**bridge, name, interfaces, context.new_interfaces);
  if (context.invocation.Has("--fake-iface")) {
    context.transaction.Set("Port", row, "bond_fake_iface", Datum::Scalar(true));
  }
  const TableSchema& table = context.transaction.schema().tables.at("Port");
  for (size_t i = first_setting; i < context.argc(); ++i) {
    SLUICE_RETURN_IF_ERROR(SetColumn(context, table, row, context.arg(i)));
  }
  // A tag may have moved the port to a fake bridge, or out of it.
  if (has_children && first_setting < context.argc()) topology.Invalidate();
  return absl::OkStatus();
}

}  // namespace

absl::Status RunAddPort(Context& context) { return AddPort(context, {context.arg(2)}, 3); }

absl::Status RunAddBond(Context& context) {
  const size_t first_setting = FirstSetting(context.invocation, 3);
  const auto& argv = context.argv();
  const std::vector<std::string> interfaces(argv.begin() + 3,
                                            argv.begin() + static_cast<std::ptrdiff_t>(first_setting));
  for (size_t i = 0; i < interfaces.size(); ++i) {
    if (std::find(interfaces.begin(), interfaces.begin() + static_cast<std::ptrdiff_t>(i), interfaces[i]) !=
        interfaces.begin() + static_cast<std::ptrdiff_t>(i)) {
      return InvalidArgument("interface {} is named twice; a bond's interfaces are different ones", interfaces[i]);
    }
  }
  return AddPort(context, interfaces, first_setting);
}

absl::Status RunAddBondIface(Context& context) {
  const std::string& name = context.arg(2);
  const absl::StatusOr<Port*> port = context.topology.GetPort(context.arg(1));
  if (!port.ok()) return port.status();
  const Interface* existing = context.topology.FindInterface(name);
  if (existing != nullptr && context.invocation.Has("--may-exist")) {
    if (existing->port == *port) return absl::OkStatus();
    return InvalidArgument("\"{}\" but {} is actually attached to port {}", context.invocation.ToString(), name,
                           existing->port->name);
  }
  SLUICE_RETURN_IF_ERROR(context.topology.CheckFree(name, fmt::format("cannot create an interface named {}", name)));
  if (name.empty()) return InvalidArgument("interface name must not be empty string");
  context.topology.AddInterface(**port, name, context.new_interfaces);
  return absl::OkStatus();
}

absl::Status RunDelBondIface(Context& context) {
  const std::string& name = context.argv().back();
  const absl::StatusOr<Interface*> interface = context.topology.GetInterface(name);
  if (!interface.ok()) return context.invocation.Has("--if-exists") ? absl::OkStatus() : interface.status();
  if (context.argc() == 3) {
    const absl::StatusOr<Port*> port = context.topology.GetPort(context.arg(1));
    if (!port.ok()) return port.status();
    if ((*interface)->port != *port) {
      return InvalidArgument("port {} does not have an interface {}", context.arg(1), name);
    }
  }
  const Port& port = *(*interface)->port;
  if (port.interfaces.size() == 1) {
    return FailedPrecondition("cannot delete last interface from port {}", port.name);
  }
  context.topology.DeleteInterface(**interface);
  return absl::OkStatus();
}

namespace {

// The port that del-port means; nullptr if there is none and that is all right.
absl::StatusOr<Port*> PortToDelete(Context& context) {
  const std::string& name = context.argv().back();
  const bool must_exist = !context.invocation.Has("--if-exists");
  Port* port = context.topology.FindPort(name);
  if (port == nullptr && context.invocation.Has("--with-iface")) {
    if (const Interface* interface = context.topology.FindInterface(name)) return interface->port;
    if (must_exist) return NotFound("no port or interface named {}", name);
  } else if (port == nullptr && must_exist) {
    if (context.topology.FindBridge(name) == nullptr) return NotFound("no port named {}", name);
    return FailedPrecondition(
        "cannot delete port {0} because it is the local port for bridge {0} (deleting this port requires deleting the "
        "entire bridge)",
        name);
  }
  return port;
}

}  // namespace

absl::Status RunDelPort(Context& context) {
  const absl::StatusOr<Port*> port = PortToDelete(context);
  if (!port.ok() || *port == nullptr) return port.status();
  if (context.argc() == 3) {
    const absl::StatusOr<Bridge*> bridge = context.topology.GetBridge(context.arg(1));
    if (!bridge.ok()) return bridge.status();
    const Bridge& actual = *(*port)->bridge;
    if (&actual != *bridge) {
      return InvalidArgument(
          "bridge {} does not have a port {}{}", context.arg(1), context.arg(2),
          actual.parent == *bridge ? fmt::format(" (although its child bridge {} does)", actual.name) : "");
    }
  }
  context.topology.DeletePort(**port);
  return absl::OkStatus();
}

absl::Status RunListPorts(Context& context) {
  const absl::StatusOr<Bridge*> bridge = context.topology.GetBridge(context.arg(1));
  if (!bridge.ok()) return bridge.status();
  for (const auto& [name, port] : (*bridge)->ports) {
    if (name != (*bridge)->name) context.output += name + '\n';
  }
  return absl::OkStatus();
}

absl::Status RunListIfaces(Context& context) {
  const absl::StatusOr<Bridge*> bridge = context.topology.GetBridge(context.arg(1));
  if (!bridge.ok()) return bridge.status();
  std::vector<std::string> names;
  for (const auto& [port_name, port] : (*bridge)->ports) {
    for (const std::string& name : port->interfaces) {
      if (name != (*bridge)->name) names.push_back(name);
    }
  }
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) context.output += name + '\n';
  return absl::OkStatus();
}

absl::Status RunPortToBr(Context& context) {
  const absl::StatusOr<Port*> port = context.topology.GetPort(context.arg(1));
  if (!port.ok()) return port.status();
  context.output = (*port)->bridge->name + '\n';
  return absl::OkStatus();
}

absl::Status RunIfaceToBr(Context& context) {
  const absl::StatusOr<Interface*> interface = context.topology.GetInterface(context.arg(1));
  if (!interface.ok()) return interface.status();
  context.output = (*interface)->port->bridge->name + '\n';
  return absl::OkStatus();
}

}  // namespace sluice::vsctl
