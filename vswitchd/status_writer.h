// StatusWriter: what the switch reports in the database: the columns of Interface, Bridge, Mirror and Open_vSwitch that
// ovs-vswitchd.conf.db(5) calls status and statistics.
//
// Compares with the replica and writes only what differs. Main thread.
#pragma once

#include "lib/ovsdb/client.h"
#include "netdev/link_query.h"
#include "ofproto/switch.h"
#include "vswitchd/row_reader.h"

namespace sluice {

class StatusWriter {
 public:
  StatusWriter(const OvsdbClient& client, Switch& the_switch, LinkQuery query)
      : client_(client), switch_(the_switch), query_(std::move(query)) {}

  // What changes rarely: ofport, error, mac_in_use, mtu, link state, status, datapath_id, ...
  void WriteStatus(const RowReader& root, TransactionBuilder& transaction);
  // Counters of interfaces and mirrors; of the system, if `system`.
  void WriteStatistics(const RowReader& root, bool system, TransactionBuilder& transaction);
  // What does not change while the process lives: versions and lists of types.
  void WriteConstants(const RowReader& root, TransactionBuilder& transaction);

 private:
  void WriteInterface(const RowReader& row, TransactionBuilder& transaction);
  void WriteDevice(const RowReader& row, const InterfaceStatus& status, TransactionBuilder& transaction);
  void WriteBridge(const RowReader& row, TransactionBuilder& transaction);

  const OvsdbClient& client_;
  Switch& switch_;
  LinkQuery query_;
};

// Calls `visit(bridge, port, interface)` for all that the root's bridges refer to.
void ForEachInterface(const RowReader& root, const std::function<void(const RowReader& interface)>& visit);

}  // namespace sluice
