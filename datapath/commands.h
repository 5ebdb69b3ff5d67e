// The control-socket commands of the datapath: dpctl/*, dpif-netdev/*, netdev-dummy/receive and sluice/*.
//
// Names, syntax and text follow ovs-dpctl(8) and ovs-vswitchd(8). A command that a program would read answers in JSON
// with --format json. The datapath argument may be left out where there is exactly one.
#pragma once

#include "datapath/datapath_manager.h"
#include "lib/io/unixctl.h"

namespace sluice {

// Both outlive each other's use: the server stops before the manager is destroyed.
void RegisterDatapathCommands(UnixctlServer& server, DatapathManager& manager);

// Its parts.
void RegisterDpctlCommands(UnixctlServer& server, DatapathManager& manager);
void RegisterFlowCommands(UnixctlServer& server, DatapathManager& manager);
void RegisterPmdCommands(UnixctlServer& server, DatapathManager& manager);
void RegisterSluiceCommands(UnixctlServer& server, DatapathManager& manager);
void RegisterKernelCommands(UnixctlServer& server, DatapathManager& manager);

}  // namespace sluice
