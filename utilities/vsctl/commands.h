// The commands' functions, by group; command_list.cc puts names and syntax to them.
#pragma once

#include "utilities/vsctl/command.h"

namespace sluice::vsctl {

using Schema = DatabaseSchema;

// What bridge, port and interface commands look at.
absl::Status PrepareTopology(const Invocation& invocation, const Schema& schema, Needs& needs);

// switch_commands.cc
absl::Status PrepareNothing(const Invocation& invocation, const Schema& schema, Needs& needs);
absl::Status PrepareEmerReset(const Invocation& invocation, const Schema& schema, Needs& needs);
absl::Status RunNothing(Context& context);
absl::Status RunEmerReset(Context& context);

// show.cc
absl::Status PrepareShow(const Invocation& invocation, const Schema& schema, Needs& needs);
absl::Status RunShow(Context& context);

// bridge_commands.cc
absl::Status RunAddBr(Context& context);
absl::Status RunDelBr(Context& context);
absl::Status RunListBr(Context& context);
absl::Status RunBrExists(Context& context);
absl::Status RunBrToVlan(Context& context);
absl::Status RunBrToParent(Context& context);
absl::Status PrepareBrExternalId(const Invocation& invocation, const Schema& schema, Needs& needs);
absl::Status RunBrSetExternalId(Context& context);
absl::Status RunBrGetExternalId(Context& context);

// port_commands.cc
absl::Status RunListPorts(Context& context);
absl::Status RunAddPort(Context& context);
absl::Status RunAddBond(Context& context);
absl::Status RunAddBondIface(Context& context);
absl::Status RunDelBondIface(Context& context);
absl::Status RunDelPort(Context& context);
absl::Status RunPortToBr(Context& context);
absl::Status RunListIfaces(Context& context);
absl::Status RunIfaceToBr(Context& context);

// connection_commands.cc
absl::Status PrepareController(const Invocation& invocation, const Schema& schema, Needs& needs);
absl::Status RunGetController(Context& context);
absl::Status RunDelController(Context& context);
absl::Status RunSetController(Context& context);
absl::Status PrepareFailMode(const Invocation& invocation, const Schema& schema, Needs& needs);
absl::Status RunGetFailMode(Context& context);
absl::Status RunDelFailMode(Context& context);
absl::Status RunSetFailMode(Context& context);
absl::Status PrepareManager(const Invocation& invocation, const Schema& schema, Needs& needs);
absl::Status RunGetManager(Context& context);
absl::Status RunDelManager(Context& context);
absl::Status RunSetManager(Context& context);
absl::Status PrepareSsl(const Invocation& invocation, const Schema& schema, Needs& needs);
absl::Status RunGetSsl(Context& context);
absl::Status RunDelSsl(Context& context);
absl::Status RunSetSsl(Context& context);

// datapath_commands.cc
absl::Status PrepareAaMapping(const Invocation& invocation, const Schema& schema, Needs& needs);
absl::Status RunAddAaMapping(Context& context);
absl::Status RunDelAaMapping(Context& context);
absl::Status RunGetAaMapping(Context& context);
absl::Status PrepareDatapath(const Invocation& invocation, const Schema& schema, Needs& needs);
absl::Status RunAddZoneTp(Context& context);
absl::Status RunDelZoneTp(Context& context);
absl::Status RunListZoneTp(Context& context);
absl::Status RunListDpCap(Context& context);

// database_commands.cc
absl::Status PrepareList(const Invocation& invocation, const Schema& schema, Needs& needs);
absl::Status RunList(Context& context);
absl::Status PrepareFind(const Invocation& invocation, const Schema& schema, Needs& needs);
absl::Status RunFind(Context& context);
absl::Status PrepareGet(const Invocation& invocation, const Schema& schema, Needs& needs);
absl::Status RunGet(Context& context);
absl::Status PrepareWaitUntil(const Invocation& invocation, const Schema& schema, Needs& needs);
absl::Status RunWaitUntil(Context& context);

// database_edit_commands.cc
absl::Status PrepareSet(const Invocation& invocation, const Schema& schema, Needs& needs);
absl::Status RunSet(Context& context);
absl::Status PrepareAddRemove(const Invocation& invocation, const Schema& schema, Needs& needs);
absl::Status RunAdd(Context& context);
absl::Status RunRemove(Context& context);
absl::Status PrepareClear(const Invocation& invocation, const Schema& schema, Needs& needs);
absl::Status RunClear(Context& context);
absl::Status PrepareCreate(const Invocation& invocation, const Schema& schema, Needs& needs);
absl::Status RunCreate(Context& context);
absl::Status PrepareDestroy(const Invocation& invocation, const Schema& schema, Needs& needs);
absl::Status RunDestroy(Context& context);

// "column[:key]=value" put into a row: the error says what is wrong with it.
absl::Status SetColumn(Context& context, const TableSchema& table, const Uuid& row, const std::string& argument);

}  // namespace sluice::vsctl
