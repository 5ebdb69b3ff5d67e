// The control-socket commands of bridges: fdb/*, dpif/*, ofproto/*, upcall/show, revalidator/*, bridge/*,
// qos/show-types.
//
// Names, syntax and text follow ovs-vswitchd(8). A command that a program would read answers in JSON with --format
// json.
#pragma once

#include "lib/io/unixctl.h"
#include "ofproto/switch_impl.h"

namespace sluice {

// The server stops before the switch is destroyed.
void RegisterOfprotoCommands(UnixctlServer& server, Switch::Impl& the_switch);

// Its parts.
void RegisterFdbCommands(UnixctlServer& server, Switch::Impl& the_switch);
void RegisterDpifCommands(UnixctlServer& server, Switch::Impl& the_switch);
void RegisterUpcallCommands(UnixctlServer& server, Switch::Impl& the_switch);
void RegisterTraceCommands(UnixctlServer& server, Switch::Impl& the_switch);

// The bridge of this name, or kNotFound in the words that users know.
absl::StatusOr<Bridge*> FindBridge(Switch::Impl& the_switch, std::string_view name);

}  // namespace sluice
