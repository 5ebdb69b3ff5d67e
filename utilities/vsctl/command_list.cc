// The commands' names and syntax.
#include "utilities/vsctl/command.h"
#include "utilities/vsctl/commands.h"

namespace sluice::vsctl {

const std::vector<Command>& Commands() {
  constexpr int kAny = Command::kAnyNumber;
  static const std::vector<Command> kCommands = {
      {"init", 0, 0, "", "", PrepareNothing, RunNothing, true},
      {"show", 0, 0, "", "", PrepareShow, RunShow, false},
      {"emer-reset", 0, 0, "", "", PrepareEmerReset, RunEmerReset, true},

      {"add-br", 1, 3, "!NEW-BRIDGE ?PARENT ?NEW-VLAN", "--may-exist", PrepareTopology, RunAddBr, true},
      {"del-br", 1, 1, "!BRIDGE", "--if-exists", PrepareTopology, RunDelBr, true},
      {"list-br", 0, 0, "", "--real,--fake", PrepareTopology, RunListBr, false},
      {"br-exists", 1, 1, "!BRIDGE", "", PrepareTopology, RunBrExists, false},
      {"br-to-vlan", 1, 1, "!BRIDGE", "", PrepareTopology, RunBrToVlan, false},
      {"br-to-parent", 1, 1, "!BRIDGE", "", PrepareTopology, RunBrToParent, false},
      {"br-set-external-id", 2, 3, "!BRIDGE !KEY ?VALUE", "", PrepareBrExternalId, RunBrSetExternalId, true},
      {"br-get-external-id", 1, 2, "!BRIDGE ?KEY", "", PrepareBrExternalId, RunBrGetExternalId, false},

      {"list-ports", 1, 1, "!BRIDGE", "", PrepareTopology, RunListPorts, false},
      {"add-port", 2, kAny, "!BRIDGE !NEW-PORT *COLUMN?:KEY=VALUE", "--may-exist", PrepareTopology, RunAddPort, true},
      {"add-bond", 4, kAny, "!BRIDGE !BOND +IFACE *COLUMN?:KEY=VALUE", "--may-exist,--fake-iface", PrepareTopology,
       RunAddBond, true},
      {"add-bond-iface", 2, 2, "!BOND !IFACE", "--may-exist", PrepareTopology, RunAddBondIface, true},
      {"del-bond-iface", 1, 2, "?BOND !IFACE", "--if-exists", PrepareTopology, RunDelBondIface, true},
      {"del-port", 1, 2, "?BRIDGE !PORT|IFACE", "--if-exists,--with-iface", PrepareTopology, RunDelPort, true},
      {"port-to-br", 1, 1, "!PORT", "", PrepareTopology, RunPortToBr, false},
      {"list-ifaces", 1, 1, "!BRIDGE", "", PrepareTopology, RunListIfaces, false},
      {"iface-to-br", 1, 1, "!IFACE", "", PrepareTopology, RunIfaceToBr, false},

      {"get-controller", 1, 1, "!BRIDGE", "", PrepareController, RunGetController, false},
      {"del-controller", 1, 1, "!BRIDGE", "", PrepareController, RunDelController, true},
      {"set-controller", 1, kAny, "!BRIDGE +TARGET", "--inactivity-probe=", PrepareController, RunSetController, true},
      {"get-fail-mode", 1, 1, "!BRIDGE", "", PrepareFailMode, RunGetFailMode, false},
      {"del-fail-mode", 1, 1, "!BRIDGE", "", PrepareFailMode, RunDelFailMode, true},
      {"set-fail-mode", 2, 2, "!BRIDGE !MODE", "", PrepareFailMode, RunSetFailMode, true},
      {"get-manager", 0, 0, "", "", PrepareManager, RunGetManager, false},
      {"del-manager", 0, 0, "", "", PrepareManager, RunDelManager, true},
      {"set-manager", 1, kAny, "+TARGET", "--inactivity-probe=", PrepareManager, RunSetManager, true},
      {"get-ssl", 0, 0, "", "", PrepareSsl, RunGetSsl, false},
      {"del-ssl", 0, 0, "", "", PrepareSsl, RunDelSsl, true},
      {"set-ssl", 3, 3, "!PRIVATE-KEY !CERTIFICATE !CA-CERT", "--bootstrap", PrepareSsl, RunSetSsl, true},

      {"add-aa-mapping", 3, 3, "!BRIDGE !ARG !ARG", "", PrepareAaMapping, RunAddAaMapping, true},
      {"del-aa-mapping", 3, 3, "!BRIDGE !ARG !ARG", "", PrepareAaMapping, RunDelAaMapping, true},
      {"get-aa-mapping", 1, 1, "!BRIDGE", "", PrepareAaMapping, RunGetAaMapping, false},

      {"add-zone-tp", 3, kAny, "", "--may-exist", PrepareDatapath, RunAddZoneTp, true},
      {"del-zone-tp", 2, 2, "", "--if-exists", PrepareDatapath, RunDelZoneTp, true},
      {"list-zone-tp", 1, 1, "", "", PrepareDatapath, RunListZoneTp, false},
      {"list-dp-cap", 1, 1, "", "", PrepareDatapath, RunListDpCap, false},

      {"comment", 0, kAny, "*ARG", "", PrepareNothing, RunNothing, false},
      {"get", 2, kAny, "!TABLE !RECORD *COLUMN?:KEY", "--if-exists,--id=", PrepareGet, RunGet, false},
      {"list", 1, kAny, "!TABLE *RECORD", "--if-exists,--columns=", PrepareList, RunList, false},
      {"find", 1, kAny, "!TABLE *COLUMN?:KEY=VALUE", "--columns=", PrepareFind, RunFind, false},
      {"set", 3, kAny, "!TABLE !RECORD +COLUMN?:KEY=VALUE", "--if-exists", PrepareSet, RunSet, true},
      {"add", 4, kAny, "!TABLE !RECORD !COLUMN +?KEY=VALUE", "--if-exists", PrepareAddRemove, RunAdd, true},
      {"remove", 4, kAny, "!TABLE !RECORD !COLUMN +KEY|VALUE|KEY=VALUE", "--if-exists", PrepareAddRemove, RunRemove,
       true},
      {"clear", 3, kAny, "!TABLE !RECORD +COLUMN", "--if-exists", PrepareClear, RunClear, true},
      {"create", 2, kAny, "!TABLE +COLUMN?:KEY=VALUE", "--id=", PrepareCreate, RunCreate, true},
      {"destroy", 1, kAny, "!TABLE *RECORD", "--if-exists,--all", PrepareDestroy, RunDestroy, true},
      {"wait-until", 2, kAny, "!TABLE !RECORD *COLUMN?:KEY=VALUE", "", PrepareWaitUntil, RunWaitUntil, false},
  };
  return kCommands;
}

}  // namespace sluice::vsctl
