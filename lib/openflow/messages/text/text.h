// The text of each kind of message, as ovs-ofctl prints it behind "NAME (version) (xid=...):". A text that needs lines
// of its own begins with a newline. The flows' are in flows.h.
#pragma once

#include "lib/openflow/messages/registry.h"

namespace sluice::messages {

// Symmetric
void FormatHello(const OfHello& message, const Text& text, std::string& out);
void FormatError(const OfErrorMessage& message, const Text& text, std::string& out);
void FormatEchoRequest(const OfEchoRequest& message, const Text& text, std::string& out);
void FormatEchoReply(const OfEchoReply& message, const Text& text, std::string& out);

// The switch
void FormatFeatures(const OfFeaturesReply& message, const Text& text, std::string& out);
void FormatConfig(const OfSwitchConfig& message, const Text& text, std::string& out);
void FormatConfigReply(const OfConfigReply& message, const Text& text, std::string& out);
void FormatDesc(const OfDescReply& message, const Text& text, std::string& out);

// Ports
void FormatPortStatus(const OfPortStatus& message, const Text& text, std::string& out);
void FormatPortMod(const OfPortMod& message, const Text& text, std::string& out);
void FormatPortDescRequest(const OfPortDescRequest& message, const Text& text, std::string& out);
void FormatPortDescReply(const OfPortDescReply& message, const Text& text, std::string& out);
void FormatPortStatsRequest(const OfPortStatsRequest& message, const Text& text, std::string& out);
void FormatPortStatsReply(const OfPortStatsReply& message, const Text& text, std::string& out);

// Packets
void FormatPacketIn(const OfPacketIn& message, const Text& text, std::string& out);
void FormatResume(const OfResume& message, const Text& text, std::string& out);
void FormatPacketOut(const OfPacketOut& message, const Text& text, std::string& out);

// Tables
void FormatTableMod(const OfTableMod& message, const Text& text, std::string& out);
void FormatTableDescReply(const OfTableDescReply& message, const Text& text, std::string& out);
void FormatTableStatus(const OfTableStatus& message, const Text& text, std::string& out);
void FormatTableStatsReply(const OfTableStatsReply& message, const Text& text, std::string& out);
void FormatTableFeaturesRequest(const OfTableFeaturesRequest& message, const Text& text, std::string& out);
void FormatTableFeaturesReply(const OfTableFeaturesReply& message, const Text& text, std::string& out);

// Groups, meters, queues
void FormatGroupMod(const GroupMod& message, const Text& text, std::string& out);
void FormatGroupStatsRequest(const OfGroupStatsRequest& message, const Text& text, std::string& out);
void FormatGroupDescRequest(const OfGroupDescRequest& message, const Text& text, std::string& out);
void FormatGroupStatsReply(const OfGroupStatsReply& message, const Text& text, std::string& out);
void FormatGroupDescReply(const OfGroupDescReply& message, const Text& text, std::string& out);
void FormatGroupFeatures(const OfGroupFeaturesReply& message, const Text& text, std::string& out);
void FormatMeterMod(const MeterMod& message, const Text& text, std::string& out);
void FormatMeterStatsRequest(const OfMeterStatsRequest& message, const Text& text, std::string& out);
void FormatMeterConfigRequest(const OfMeterConfigRequest& message, const Text& text, std::string& out);
void FormatMeterStatsReply(const OfMeterStatsReply& message, const Text& text, std::string& out);
void FormatMeterConfigReply(const OfMeterConfigReply& message, const Text& text, std::string& out);
void FormatMeterFeatures(const OfMeterFeaturesReply& message, const Text& text, std::string& out);
void FormatQueueGetConfigRequest(const OfQueueGetConfigRequest& message, const Text& text, std::string& out);
void FormatQueueGetConfigReply(const OfQueueGetConfigReply& message, const Text& text, std::string& out);
void FormatQueueDescRequest(const OfQueueDescRequest& message, const Text& text, std::string& out);
void FormatQueueDescReply(const OfQueueDescReply& message, const Text& text, std::string& out);
void FormatQueueStatsRequest(const OfQueueStatsRequest& message, const Text& text, std::string& out);
void FormatQueueStatsReply(const OfQueueStatsReply& message, const Text& text, std::string& out);

// Controllers
void FormatRoleRequest(const OfRoleRequest& message, const Text& text, std::string& out);
void FormatRoleReply(const OfRoleReply& message, const Text& text, std::string& out);
void FormatRoleStatus(const OfRoleStatus& message, const Text& text, std::string& out);
void FormatSetAsync(const OfSetAsync& message, const Text& text, std::string& out);
void FormatGetAsync(const OfGetAsyncReply& message, const Text& text, std::string& out);
void FormatBundleControl(const OfBundleControl& message, const Text& text, std::string& out);
void FormatBundleAdd(const OfBundleAdd& message, const Text& text, std::string& out);
void FormatRequestForward(const OfRequestForward& message, const Text& text, std::string& out);
void FormatFlowMonitorRequest(const OfReply<OfFlowMonitorRequest>& message, const Text& text, std::string& out);
void FormatFlowMonitorReply(const OfFlowMonitorReply& message, const Text& text, std::string& out);
void FormatFlowMonitorCancel(const OfFlowMonitorCancel& message, const Text& text, std::string& out);

// Nicira's
void FormatSetFlowFormat(const NxSetFlowFormat& message, const Text& text, std::string& out);
void FormatSetTableId(const NxSetFlowModTableId& message, const Text& text, std::string& out);
void FormatSetPacketInFormat(const NxSetPacketInFormat& message, const Text& text, std::string& out);
void FormatSetControllerId(const NxSetControllerId& message, const Text& text, std::string& out);
void FormatTlvTableMod(const NxTlvTableMod& message, const Text& text, std::string& out);
void FormatTlvTableReply(const NxTlvTableReply& message, const Text& text, std::string& out);
void FormatCtFlushZone(const NxCtFlush& message, const Text& text, std::string& out);
void FormatCtFlush(const NxCtFlush& message, const Text& text, std::string& out);
void FormatIpfixReply(const OfIpfixStatsReply& message, const Text& text, std::string& out);

// -- Pieces
// ------------------------------------------------------------------------------------------------------------

// One port as `show` prints it, with its lines of features; several, by number.
void FormatPort(const OfPortDesc& port, const Text& text, std::string& out);
void FormatPorts(std::vector<OfPortDesc> ports, const Text& text, std::string& out);
// The names of bits with spaces between them; those without a name as a number at the end; "0" for none.
struct BitName {
  uint32_t bit;
  std::string_view name;
};
std::string BitNames(uint32_t bits, absl::Span<const BitName> names, std::string_view separator);
// Of a bitmap of action types, in the order in which ovs-ofctl names them; "<none>" for none.
std::string ActionNames(uint32_t actions, OfVersion version);
// 12s, 12.340s, or with as many digits as it takes.
std::string DurationText(std::chrono::nanoseconds duration);
// The headers of a packet as a match, and its transport checksum; a line.
std::string PacketText(std::string_view packet, const Text& text);
// Rows of 16 bytes with offsets and characters.
std::string HexDump(Bytes bytes);
std::string_view ReasonName(FlowRemoved::Reason reason);

}  // namespace sluice::messages
