// What --help, --version, --commands and --options print.
#include <set>

#include "lib/io/daemon.h"
#include "lib/io/tls_options.h"
#include "lib/io/version.h"
#include "utilities/vsctl/options.h"
#include "utilities/vsctl/rows.h"

namespace sluice::vsctl {
namespace {

constexpr std::string_view kCommandsHelp =
    R"(vsctl: vswitchd management utility
usage: vsctl [OPTIONS] COMMAND [ARG...] [-- [OPTIONS] COMMAND [ARG...]]...

Open vSwitch commands:
  init                        initialize database, if not yet initialized
  show                        print overview of database contents
  emer-reset                  reset configuration to clean state

Bridge commands:
  add-br BRIDGE               create a new bridge named BRIDGE
  add-br BRIDGE PARENT VLAN   create new fake BRIDGE in PARENT on VLAN
  del-br BRIDGE               delete BRIDGE and all of its ports
  list-br                     print the names of all the bridges
  br-exists BRIDGE            exit 2 if BRIDGE does not exist
  br-to-vlan BRIDGE           print the VLAN which BRIDGE is on
  br-to-parent BRIDGE         print the parent of BRIDGE
  br-set-external-id BRIDGE KEY VALUE  set KEY on BRIDGE to VALUE
  br-set-external-id BRIDGE KEY  unset KEY on BRIDGE
  br-get-external-id BRIDGE KEY  print value of KEY on BRIDGE
  br-get-external-id BRIDGE  list key-value pairs on BRIDGE

Port commands (a bond is considered to be a single port):
  list-ports BRIDGE           print the names of all the ports on BRIDGE
  add-port BRIDGE PORT        add network device PORT to BRIDGE
  add-bond BRIDGE PORT IFACE...  add bonded port PORT in BRIDGE from IFACES
  add-bond-iface PORT IFACE   add IFACE to bonded PORT
  del-bond-iface [PORT] IFACE delete IFACE from its port
  del-port [BRIDGE] PORT      delete PORT (which may be bonded) from BRIDGE
  port-to-br PORT             print name of bridge that contains PORT

Interface commands (a bond consists of multiple interfaces):
  list-ifaces BRIDGE          print the names of all interfaces on BRIDGE
  iface-to-br IFACE           print name of bridge that contains IFACE

Controller commands:
  get-controller BRIDGE      print the controllers for BRIDGE
  del-controller BRIDGE      delete the controllers for BRIDGE
  [--inactivity-probe=MSECS]
  set-controller BRIDGE TARGET...  set the controllers for BRIDGE
  get-fail-mode BRIDGE       print the fail-mode for BRIDGE
  del-fail-mode BRIDGE       delete the fail-mode for BRIDGE
  set-fail-mode BRIDGE MODE  set the fail-mode for BRIDGE to MODE

Manager commands:
  get-manager                print the managers
  del-manager                delete the managers
  [--inactivity-probe=MSECS]
  set-manager TARGET...      set the list of managers to TARGET...

SSL commands:
  get-ssl                     print the SSL configuration
  del-ssl                     delete the SSL configuration
  [--bootstrap]
  set-ssl PRIV-KEY CERT CA-CERT  set the SSL configuration

Auto Attach commands:
  add-aa-mapping BRIDGE I-SID VLAN   add Auto Attach mapping to BRIDGE
  del-aa-mapping BRIDGE I-SID VLAN   delete Auto Attach mapping VLAN from BRIDGE
  get-aa-mapping BRIDGE              get Auto Attach mappings from BRIDGE

Datapath commands:
  add-zone-tp DP zone=ZONE POLICY...  set the timeouts of a conntrack zone
  del-zone-tp DP zone=ZONE    delete the timeouts of a conntrack zone
  list-zone-tp DP             print the timeouts of conntrack zones
  list-dp-cap DP              print the capabilities of datapath DP

Database commands:
  list TBL [REC]              list RECord (or all records) in TBL
  find TBL CONDITION...       list records satisfying CONDITION in TBL
  get TBL REC COL[:KEY]       print values of COLumns in RECord in TBL
  set TBL REC COL[:KEY]=VALUE set COLumn values in RECord in TBL
  add TBL REC COL [KEY=]VALUE add (KEY=)VALUE to COLumn in RECord in TBL
  remove TBL REC COL [KEY=]VALUE  remove (KEY=)VALUE from COLumn
  clear TBL REC COL           clear values from COLumn in RECord in TBL
  create TBL COL[:KEY]=VALUE  create and initialize new record
  destroy TBL REC             delete RECord from TBL
  wait-until TBL REC [COL[:KEY]=VALUE]  wait until condition is true
  comment [ARG]...            put ARGs into the database's log
Database commands may reference a row in each table in the following ways:
)";

constexpr std::string_view kOptionsHelp =
    R"(  --no-wait                   do not wait for vswitchd to reconfigure
  --retry                     keep trying to connect to server forever
  -t, --timeout=SECS          wait at most SECS seconds for vswitchd
  --dry-run                   do not commit changes to database
  --oneline                   print exactly one line of output per command

Output formatting options:
  -f, --format=FORMAT         set output formatting to FORMAT
                              ("table", "list", "html", "csv", or "json")
  -d, --data=FORMAT           set table cell output formatting to
                              FORMAT ("string", "bare", or "json")
  --no-headings               omit table heading row
  --pretty                    pretty-print JSON in output
  --bare                      equivalent to "--format=list --data=bare --no-headings"
  --max-column-width=N        cut table cells to N columns

Logging options:
  -vSPEC, --verbose=SPEC      set logging levels
  -v, --verbose               set maximum verbosity level
  --log-file[=FILE]           enable logging to specified FILE
  --no-syslog                 equivalent to --verbose=syslog:warn

Active database connection methods:
  tcp:HOST:PORT           PORT at remote HOST
  ssl:HOST:PORT           SSL PORT at remote HOST
  unix:FILE               Unix domain socket named FILE
)";

constexpr std::string_view kOtherHelp = R"(
Other options:
  -h, --help                  display this help message
  -V, --version               display version information
)";

std::string RowsHelp() {
  std::string text;
  for (const auto& [table, schema] : VswitchSchema().tables) {
    text += fmt::format("  {}:\n    by UUID\n", table);
    for (const RowName& name : RowNames()) {
      if (name.table != table) continue;
      if (name.name_column.empty()) {
        text += "    as \".\"\n";
      } else if (name.via_table.empty()) {
        text += fmt::format("    by \"{}\"\n", name.name_column);
      } else {
        text += fmt::format("    via \"{}\" of {} with matching \"{}\"\n", name.reference_column, name.via_table,
                            name.name_column);
      }
    }
  }
  return text;
}

}  // namespace

std::string HelpText() {
  return fmt::format(
      "{}{}\nOptions:\n  --db=DATABASE               connect to DATABASE\n"
      "                              (default: unix:{}/db.sock)\n{}{}{}",
      kCommandsHelp, RowsHelp(), RunDir(), kOptionsHelp, TlsOptionsUsage(), kOtherHelp);
}

std::string VersionText() {
  return fmt::format("vsctl (Sluice) {}\nDB Schema {}\n", kVersion, VswitchSchema().version);
}

std::string CommandsText() {
  std::string text;
  for (const Command& command : Commands()) {
    std::string_view rest = command.options;
    while (!rest.empty()) {
      const size_t end = std::min(rest.find(','), rest.size());
      text += fmt::format("[{}] ", rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    text += fmt::format(",{},{}\n", command.name, command.arguments);
  }
  return text;
}

std::string OptionsText() {
  std::string text;
  for (const GlobalOption& option : GlobalOptions()) {
    text += fmt::format("--{}{}\n", option.name, option.takes_value ? "=ARG" : "");
    if (option.letter != 0) text += fmt::format("-{}{}\n", option.letter, option.takes_value ? " ARG" : "");
  }
  return text;
}

}  // namespace sluice::vsctl
