#include <absl/container/flat_hash_map.h>

#include "lib/openflow/match/wire_header.h"

namespace sluice {
namespace {

using Mask = FieldInfo::Mask;
using Text = FieldInfo::Text;
using Prereq = FieldInfo::Prereq;

constexpr uint32_t kNshExperimenter = 0x005ad650;

// In the order of FieldId. Source: ovs-fields(7); OpenFlow 1.5.1, 7.2.3.7.
constexpr FieldInfo kFields[] = {
    {FieldId::kDpHash, "dp_hash", "", 4, 32, Mask::kFull, Text::kHex, Prereq::kNone, false, 0x00014604,
     "NXM_NX_DP_HASH", 0, "", OfVersion::k12, 0},
    {FieldId::kRecircId, "recirc_id", "", 4, 32, Mask::kNone, Text::kDecimal, Prereq::kNone, false, 0x00014804,
     "NXM_NX_RECIRC_ID", 0, "", OfVersion::k12, 0},
    {FieldId::kPacketType, "packet_type", "", 4, 32, Mask::kNone, Text::kPacketType, Prereq::kNone, false, 0, "",
     0x80005804, "OXM_OF_PACKET_TYPE", OfVersion::k15, 0},
    {FieldId::kConjId, "conj_id", "", 4, 32, Mask::kNone, Text::kDecimal, Prereq::kNone, false, 0x00014a04,
     "NXM_NX_CONJ_ID", 0, "", OfVersion::k12, 0},
    {FieldId::kMetadata, "metadata", "", 8, 64, Mask::kFull, Text::kHex, Prereq::kNone, true, 0, "", 0x80000408,
     "OXM_OF_METADATA", OfVersion::k12, 0},
    {FieldId::kInPort, "in_port", "", 2, 16, Mask::kNone, Text::kOfPort, Prereq::kNone, true, 0x00000002,
     "NXM_OF_IN_PORT", 0, "", OfVersion::k12, 0},
    {FieldId::kInPortOxm, "in_port_oxm", "", 4, 32, Mask::kNone, Text::kOfPort, Prereq::kNone, true, 0, "", 0x80000004,
     "OXM_OF_IN_PORT", OfVersion::k12, 0},
    {FieldId::kActsetOutput, "actset_output", "", 4, 32, Mask::kNone, Text::kOfPort, Prereq::kNone, false, 0, "",
     0x80005604, "OXM_OF_ACTSET_OUTPUT", OfVersion::k15, 0},
    {FieldId::kSkbPriority, "skb_priority", "", 4, 32, Mask::kNone, Text::kHex, Prereq::kNone, false, 0, "", 0, "",
     OfVersion::k12, 0},
    {FieldId::kPktMark, "pkt_mark", "", 4, 32, Mask::kFull, Text::kHex, Prereq::kNone, true, 0x00014204,
     "NXM_NX_PKT_MARK", 0, "", OfVersion::k12, 0},
    {FieldId::kReg0, "reg0", "", 4, 32, Mask::kFull, Text::kHex, Prereq::kNone, true, 0x00010004, "NXM_NX_REG0", 0, "",
     OfVersion::k12, 0},
    {FieldId::kReg1, "reg1", "", 4, 32, Mask::kFull, Text::kHex, Prereq::kNone, true, 0x00010204, "NXM_NX_REG1", 0, "",
     OfVersion::k12, 0},
    {FieldId::kReg2, "reg2", "", 4, 32, Mask::kFull, Text::kHex, Prereq::kNone, true, 0x00010404, "NXM_NX_REG2", 0, "",
     OfVersion::k12, 0},
    {FieldId::kReg3, "reg3", "", 4, 32, Mask::kFull, Text::kHex, Prereq::kNone, true, 0x00010604, "NXM_NX_REG3", 0, "",
     OfVersion::k12, 0},
    {FieldId::kReg4, "reg4", "", 4, 32, Mask::kFull, Text::kHex, Prereq::kNone, true, 0x00010804, "NXM_NX_REG4", 0, "",
     OfVersion::k12, 0},
    {FieldId::kReg5, "reg5", "", 4, 32, Mask::kFull, Text::kHex, Prereq::kNone, true, 0x00010a04, "NXM_NX_REG5", 0, "",
     OfVersion::k12, 0},
    {FieldId::kReg6, "reg6", "", 4, 32, Mask::kFull, Text::kHex, Prereq::kNone, true, 0x00010c04, "NXM_NX_REG6", 0, "",
     OfVersion::k12, 0},
    {FieldId::kReg7, "reg7", "", 4, 32, Mask::kFull, Text::kHex, Prereq::kNone, true, 0x00010e04, "NXM_NX_REG7", 0, "",
     OfVersion::k12, 0},
    {FieldId::kReg8, "reg8", "", 4, 32, Mask::kFull, Text::kHex, Prereq::kNone, true, 0x00011004, "NXM_NX_REG8", 0, "",
     OfVersion::k12, 0},
    {FieldId::kReg9, "reg9", "", 4, 32, Mask::kFull, Text::kHex, Prereq::kNone, true, 0x00011204, "NXM_NX_REG9", 0, "",
     OfVersion::k12, 0},
    {FieldId::kReg10, "reg10", "", 4, 32, Mask::kFull, Text::kHex, Prereq::kNone, true, 0x00011404, "NXM_NX_REG10", 0,
     "", OfVersion::k12, 0},
    {FieldId::kReg11, "reg11", "", 4, 32, Mask::kFull, Text::kHex, Prereq::kNone, true, 0x00011604, "NXM_NX_REG11", 0,
     "", OfVersion::k12, 0},
    {FieldId::kReg12, "reg12", "", 4, 32, Mask::kFull, Text::kHex, Prereq::kNone, true, 0x00011804, "NXM_NX_REG12", 0,
     "", OfVersion::k12, 0},
    {FieldId::kReg13, "reg13", "", 4, 32, Mask::kFull, Text::kHex, Prereq::kNone, true, 0x00011a04, "NXM_NX_REG13", 0,
     "", OfVersion::k12, 0},
    {FieldId::kReg14, "reg14", "", 4, 32, Mask::kFull, Text::kHex, Prereq::kNone, true, 0x00011c04, "NXM_NX_REG14", 0,
     "", OfVersion::k12, 0},
    {FieldId::kReg15, "reg15", "", 4, 32, Mask::kFull, Text::kHex, Prereq::kNone, true, 0x00011e04, "NXM_NX_REG15", 0,
     "", OfVersion::k12, 0},
    {FieldId::kXreg0, "xreg0", "", 8, 64, Mask::kFull, Text::kHex, Prereq::kNone, true, 0, "", 0x80010008,
     "OXM_OF_PKT_REG0", OfVersion::k13, 0},
    {FieldId::kXreg1, "xreg1", "", 8, 64, Mask::kFull, Text::kHex, Prereq::kNone, true, 0, "", 0x80010208,
     "OXM_OF_PKT_REG1", OfVersion::k13, 0},
    {FieldId::kXreg2, "xreg2", "", 8, 64, Mask::kFull, Text::kHex, Prereq::kNone, true, 0, "", 0x80010408,
     "OXM_OF_PKT_REG2", OfVersion::k13, 0},
    {FieldId::kXreg3, "xreg3", "", 8, 64, Mask::kFull, Text::kHex, Prereq::kNone, true, 0, "", 0x80010608,
     "OXM_OF_PKT_REG3", OfVersion::k13, 0},
    {FieldId::kXreg4, "xreg4", "", 8, 64, Mask::kFull, Text::kHex, Prereq::kNone, true, 0, "", 0x80010808,
     "OXM_OF_PKT_REG4", OfVersion::k13, 0},
    {FieldId::kXreg5, "xreg5", "", 8, 64, Mask::kFull, Text::kHex, Prereq::kNone, true, 0, "", 0x80010a08,
     "OXM_OF_PKT_REG5", OfVersion::k13, 0},
    {FieldId::kXreg6, "xreg6", "", 8, 64, Mask::kFull, Text::kHex, Prereq::kNone, true, 0, "", 0x80010c08,
     "OXM_OF_PKT_REG6", OfVersion::k13, 0},
    {FieldId::kXreg7, "xreg7", "", 8, 64, Mask::kFull, Text::kHex, Prereq::kNone, true, 0, "", 0x80010e08,
     "OXM_OF_PKT_REG7", OfVersion::k13, 0},
    {FieldId::kXxreg0, "xxreg0", "", 16, 128, Mask::kFull, Text::kHex, Prereq::kNone, true, 0x0001de10, "NXM_NX_XXREG0",
     0, "", OfVersion::k12, 0},
    {FieldId::kXxreg1, "xxreg1", "", 16, 128, Mask::kFull, Text::kHex, Prereq::kNone, true, 0x0001e010, "NXM_NX_XXREG1",
     0, "", OfVersion::k12, 0},
    {FieldId::kXxreg2, "xxreg2", "", 16, 128, Mask::kFull, Text::kHex, Prereq::kNone, true, 0x0001e210, "NXM_NX_XXREG2",
     0, "", OfVersion::k12, 0},
    {FieldId::kXxreg3, "xxreg3", "", 16, 128, Mask::kFull, Text::kHex, Prereq::kNone, true, 0x0001e410, "NXM_NX_XXREG3",
     0, "", OfVersion::k12, 0},
    {FieldId::kEthSrc, "eth_src", "dl_src", 6, 48, Mask::kFull, Text::kMac, Prereq::kEthernet, true, 0x00000406,
     "NXM_OF_ETH_SRC", 0x80000806, "OXM_OF_ETH_SRC", OfVersion::k12, 0},
    {FieldId::kEthDst, "eth_dst", "dl_dst", 6, 48, Mask::kFull, Text::kMac, Prereq::kEthernet, true, 0x00000206,
     "NXM_OF_ETH_DST", 0x80000606, "OXM_OF_ETH_DST", OfVersion::k12, 0},
    {FieldId::kEthType, "eth_type", "dl_type", 2, 16, Mask::kNone, Text::kHex, Prereq::kEthernet, false, 0x00000602,
     "NXM_OF_ETH_TYPE", 0x80000a02, "OXM_OF_ETH_TYPE", OfVersion::k12, 0},
    {FieldId::kVlanTci, "vlan_tci", "", 2, 16, Mask::kFull, Text::kHex, Prereq::kEthernet, true, 0x00000802,
     "NXM_OF_VLAN_TCI", 0, "", OfVersion::k12, 0},
    {FieldId::kDlVlan, "dl_vlan", "", 2, 12, Mask::kNone, Text::kDecimal, Prereq::kEthernet, true, 0, "", 0, "",
     OfVersion::k12, 0},
    {FieldId::kVlanVid, "vlan_vid", "", 2, 12, Mask::kFull, Text::kDecimal, Prereq::kEthernet, true, 0, "", 0x80000c02,
     "OXM_OF_VLAN_VID", OfVersion::k12, 0},
    {FieldId::kDlVlanPcp, "dl_vlan_pcp", "", 1, 3, Mask::kNone, Text::kDecimal, Prereq::kEthernet, true, 0, "", 0, "",
     OfVersion::k12, 0},
    {FieldId::kVlanPcp, "vlan_pcp", "", 1, 3, Mask::kNone, Text::kDecimal, Prereq::kVlan, true, 0, "", 0x80000e01,
     "OXM_OF_VLAN_PCP", OfVersion::k12, 0},
    {FieldId::kMplsLabel, "mpls_label", "", 4, 20, Mask::kNone, Text::kDecimal, Prereq::kMpls, true, 0, "", 0x80004404,
     "OXM_OF_MPLS_LABEL", OfVersion::k12, 0},
    {FieldId::kMplsTc, "mpls_tc", "", 1, 3, Mask::kNone, Text::kDecimal, Prereq::kMpls, true, 0, "", 0x80004601,
     "OXM_OF_MPLS_TC", OfVersion::k12, 0},
    {FieldId::kMplsBos, "mpls_bos", "", 1, 1, Mask::kNone, Text::kDecimal, Prereq::kMpls, false, 0, "", 0x80004801,
     "OXM_OF_MPLS_BOS", OfVersion::k13, 0},
    {FieldId::kMplsTtl, "mpls_ttl", "", 1, 8, Mask::kNone, Text::kDecimal, Prereq::kMpls, true, 0x00013c01,
     "NXM_NX_MPLS_TTL", 0, "", OfVersion::k12, 0},
    {FieldId::kIpv4Src, "ip_src", "nw_src", 4, 32, Mask::kFull, Text::kIpv4, Prereq::kIpv4, true, 0x00000e04,
     "NXM_OF_IP_SRC", 0x80001604, "OXM_OF_IPV4_SRC", OfVersion::k12, 0},
    {FieldId::kIpv4Dst, "ip_dst", "nw_dst", 4, 32, Mask::kFull, Text::kIpv4, Prereq::kIpv4, true, 0x00001004,
     "NXM_OF_IP_DST", 0x80001804, "OXM_OF_IPV4_DST", OfVersion::k12, 0},
    {FieldId::kIpv6Src, "ipv6_src", "", 16, 128, Mask::kFull, Text::kIpv6, Prereq::kIpv6, true, 0x00012610,
     "NXM_NX_IPV6_SRC", 0x80003410, "OXM_OF_IPV6_SRC", OfVersion::k12, 0},
    {FieldId::kIpv6Dst, "ipv6_dst", "", 16, 128, Mask::kFull, Text::kIpv6, Prereq::kIpv6, true, 0x00012810,
     "NXM_NX_IPV6_DST", 0x80003610, "OXM_OF_IPV6_DST", OfVersion::k12, 0},
    {FieldId::kIpv6Label, "ipv6_label", "", 4, 20, Mask::kFull, Text::kHex, Prereq::kIpv6, true, 0x00013604,
     "NXM_NX_IPV6_LABEL", 0x80003804, "OXM_OF_IPV6_FLABEL", OfVersion::k12, 0},
    {FieldId::kIpProto, "nw_proto", "ip_proto", 1, 8, Mask::kNone, Text::kDecimal, Prereq::kIp, false, 0x00000c01,
     "NXM_OF_IP_PROTO", 0x80001401, "OXM_OF_IP_PROTO", OfVersion::k12, 0},
    {FieldId::kIpDscp, "nw_tos", "", 1, 8, Mask::kNone, Text::kDecimal, Prereq::kIp, true, 0x00000a01, "NXM_OF_IP_TOS",
     0, "", OfVersion::k12, 0},
    {FieldId::kIpDscpShifted, "ip_dscp", "", 1, 6, Mask::kNone, Text::kDecimal, Prereq::kIp, true, 0, "", 0x80001001,
     "OXM_OF_IP_DSCP", OfVersion::k12, 0},
    {FieldId::kIpEcn, "nw_ecn", "ip_ecn", 1, 2, Mask::kNone, Text::kDecimal, Prereq::kIp, true, 0x00013801,
     "NXM_NX_IP_ECN", 0x80001201, "OXM_OF_IP_ECN", OfVersion::k12, 0},
    {FieldId::kIpTtl, "nw_ttl", "", 1, 8, Mask::kNone, Text::kDecimal, Prereq::kIp, true, 0x00013a01, "NXM_NX_IP_TTL",
     0, "", OfVersion::k12, 0},
    {FieldId::kIpFrag, "ip_frag", "nw_frag", 1, 2, Mask::kFull, Text::kFrag, Prereq::kIp, false, 0x00013401,
     "NXM_NX_IP_FRAG", 0, "", OfVersion::k12, 0},
    {FieldId::kArpOp, "arp_op", "", 2, 16, Mask::kNone, Text::kDecimal, Prereq::kArp, true, 0x00001e02, "NXM_OF_ARP_OP",
     0x80002a02, "OXM_OF_ARP_OP", OfVersion::k12, 0},
    {FieldId::kArpSpa, "arp_spa", "", 4, 32, Mask::kFull, Text::kIpv4, Prereq::kArp, true, 0x00002004, "NXM_OF_ARP_SPA",
     0x80002c04, "OXM_OF_ARP_SPA", OfVersion::k12, 0},
    {FieldId::kArpTpa, "arp_tpa", "", 4, 32, Mask::kFull, Text::kIpv4, Prereq::kArp, true, 0x00002204, "NXM_OF_ARP_TPA",
     0x80002e04, "OXM_OF_ARP_TPA", OfVersion::k12, 0},
    {FieldId::kArpSha, "arp_sha", "", 6, 48, Mask::kFull, Text::kMac, Prereq::kArp, true, 0x00012206, "NXM_NX_ARP_SHA",
     0x80003006, "OXM_OF_ARP_SHA", OfVersion::k12, 0},
    {FieldId::kArpTha, "arp_tha", "", 6, 48, Mask::kFull, Text::kMac, Prereq::kArp, true, 0x00012406, "NXM_NX_ARP_THA",
     0x80003206, "OXM_OF_ARP_THA", OfVersion::k12, 0},
    {FieldId::kTcpSrc, "tcp_src", "tp_src", 2, 16, Mask::kFull, Text::kDecimal, Prereq::kTcp, true, 0x00001202,
     "NXM_OF_TCP_SRC", 0x80001a02, "OXM_OF_TCP_SRC", OfVersion::k12, 0},
    {FieldId::kTcpDst, "tcp_dst", "tp_dst", 2, 16, Mask::kFull, Text::kDecimal, Prereq::kTcp, true, 0x00001402,
     "NXM_OF_TCP_DST", 0x80001c02, "OXM_OF_TCP_DST", OfVersion::k12, 0},
    {FieldId::kTcpFlags, "tcp_flags", "", 2, 12, Mask::kFull, Text::kTcpFlags, Prereq::kTcp, false, 0x00014402,
     "NXM_NX_TCP_FLAGS", 0x80005402, "OXM_OF_TCP_FLAGS", OfVersion::k15, 0},
    {FieldId::kUdpSrc, "udp_src", "", 2, 16, Mask::kFull, Text::kDecimal, Prereq::kUdp, true, 0x00001602,
     "NXM_OF_UDP_SRC", 0x80001e02, "OXM_OF_UDP_SRC", OfVersion::k12, 0},
    {FieldId::kUdpDst, "udp_dst", "", 2, 16, Mask::kFull, Text::kDecimal, Prereq::kUdp, true, 0x00001802,
     "NXM_OF_UDP_DST", 0x80002002, "OXM_OF_UDP_DST", OfVersion::k12, 0},
    {FieldId::kSctpSrc, "sctp_src", "", 2, 16, Mask::kFull, Text::kDecimal, Prereq::kSctp, true, 0, "", 0x80002202,
     "OXM_OF_SCTP_SRC", OfVersion::k12, 0},
    {FieldId::kSctpDst, "sctp_dst", "", 2, 16, Mask::kFull, Text::kDecimal, Prereq::kSctp, true, 0, "", 0x80002402,
     "OXM_OF_SCTP_DST", OfVersion::k12, 0},
    {FieldId::kIcmpv4Type, "icmp_type", "", 1, 8, Mask::kNone, Text::kDecimal, Prereq::kIcmpv4, true, 0x00001a01,
     "NXM_OF_ICMP_TYPE", 0x80002601, "OXM_OF_ICMPV4_TYPE", OfVersion::k12, 0},
    {FieldId::kIcmpv4Code, "icmp_code", "", 1, 8, Mask::kNone, Text::kDecimal, Prereq::kIcmpv4, true, 0x00001c01,
     "NXM_OF_ICMP_CODE", 0x80002801, "OXM_OF_ICMPV4_CODE", OfVersion::k12, 0},
    {FieldId::kIcmpv6Type, "icmpv6_type", "", 1, 8, Mask::kNone, Text::kDecimal, Prereq::kIcmpv6, true, 0x00012a01,
     "NXM_NX_ICMPV6_TYPE", 0x80003a01, "OXM_OF_ICMPV6_TYPE", OfVersion::k12, 0},
    {FieldId::kIcmpv6Code, "icmpv6_code", "", 1, 8, Mask::kNone, Text::kDecimal, Prereq::kIcmpv6, true, 0x00012c01,
     "NXM_NX_ICMPV6_CODE", 0x80003c01, "OXM_OF_ICMPV6_CODE", OfVersion::k12, 0},
    {FieldId::kNdTarget, "nd_target", "", 16, 128, Mask::kFull, Text::kIpv6, Prereq::kNd, true, 0x00012e10,
     "NXM_NX_ND_TARGET", 0x80003e10, "OXM_OF_IPV6_ND_TARGET", OfVersion::k12, 0},
    {FieldId::kNdSll, "nd_sll", "", 6, 48, Mask::kFull, Text::kMac, Prereq::kNdSolicit, true, 0x00013006,
     "NXM_NX_ND_SLL", 0x80004006, "OXM_OF_IPV6_ND_SLL", OfVersion::k12, 0},
    {FieldId::kNdTll, "nd_tll", "", 6, 48, Mask::kFull, Text::kMac, Prereq::kNdAdvert, true, 0x00013206,
     "NXM_NX_ND_TLL", 0x80004206, "OXM_OF_IPV6_ND_TLL", OfVersion::k12, 0},
    {FieldId::kNshFlags, "nsh_flags", "", 1, 8, Mask::kFull, Text::kDecimal, Prereq::kNsh, true, 0xffff0205,
     "NXOXM_NSH_FLAGS", 0, "", OfVersion::k12, kNshExperimenter},
    {FieldId::kNshTtl, "nsh_ttl", "", 1, 8, Mask::kNone, Text::kDecimal, Prereq::kNsh, true, 0xffff1405,
     "NXOXM_NSH_TTL", 0, "", OfVersion::k12, kNshExperimenter},
    {FieldId::kNshMdtype, "nsh_mdtype", "", 1, 8, Mask::kNone, Text::kDecimal, Prereq::kNsh, false, 0xffff0405,
     "NXOXM_NSH_MDTYPE", 0, "", OfVersion::k12, kNshExperimenter},
    {FieldId::kNshNp, "nsh_np", "", 1, 8, Mask::kNone, Text::kDecimal, Prereq::kNsh, false, 0xffff0605, "NXOXM_NSH_NP",
     0, "", OfVersion::k12, kNshExperimenter},
    {FieldId::kNshSpi, "nsh_spi", "nsp", 4, 24, Mask::kNone, Text::kHex, Prereq::kNsh, true, 0xffff0808,
     "NXOXM_NSH_SPI", 0, "", OfVersion::k12, kNshExperimenter},
    {FieldId::kNshSi, "nsh_si", "nsi", 1, 8, Mask::kNone, Text::kDecimal, Prereq::kNsh, true, 0xffff0a05,
     "NXOXM_NSH_SI", 0, "", OfVersion::k12, kNshExperimenter},
    {FieldId::kNshC1, "nsh_c1", "", 4, 32, Mask::kFull, Text::kHex, Prereq::kNsh, true, 0xffff0c08, "NXOXM_NSH_C1", 0,
     "", OfVersion::k12, kNshExperimenter},
    {FieldId::kNshC2, "nsh_c2", "", 4, 32, Mask::kFull, Text::kHex, Prereq::kNsh, true, 0xffff0e08, "NXOXM_NSH_C2", 0,
     "", OfVersion::k12, kNshExperimenter},
    {FieldId::kNshC3, "nsh_c3", "", 4, 32, Mask::kFull, Text::kHex, Prereq::kNsh, true, 0xffff1008, "NXOXM_NSH_C3", 0,
     "", OfVersion::k12, kNshExperimenter},
    {FieldId::kNshC4, "nsh_c4", "", 4, 32, Mask::kFull, Text::kHex, Prereq::kNsh, true, 0xffff1208, "NXOXM_NSH_C4", 0,
     "", OfVersion::k12, kNshExperimenter},
};

constexpr bool InOrder() {
  size_t at = 0;
  for (const FieldInfo& field : kFields) {
    if (static_cast<size_t>(field.id) != at++) return false;
  }
  return at == static_cast<size_t>(FieldId::kCount);
}
static_assert(InOrder());

// The header without its mask bit: class, field and the value's length.
uint32_t Unmasked(uint32_t header, bool experimenter) {
  if ((header & 0x100) == 0) return header;
  uint32_t length = header & 0xff;
  uint32_t extra = experimenter ? 4 : 0;
  if (length < extra) return 0;
  return (header & 0xfffffe00) | ((length - extra) / 2 + extra);
}

using NameMap = absl::flat_hash_map<std::string, const FieldInfo*>;

NameMap MakeNames() {
  NameMap names;
  for (const FieldInfo& field : kFields) {
    for (std::string_view name : {field.name, field.extra_name, field.nxm_name, field.oxm_name}) {
      if (!name.empty()) names.emplace(std::string(name), &field);
    }
  }
  names.emplace("ONFOXM_ET_TCP_FLAGS", &kFields[static_cast<size_t>(FieldId::kTcpFlags)]);
  names.emplace("ONFOXM_ET_ACTSET_OUTPUT", &kFields[static_cast<size_t>(FieldId::kActsetOutput)]);
  return names;
}

absl::flat_hash_map<uint64_t, const FieldInfo*> MakeHeaders() {
  absl::flat_hash_map<uint64_t, const FieldInfo*> headers;
  auto add = [&headers](uint32_t header, uint32_t experimenter, const FieldInfo& field) {
    if (header != 0 || experimenter != 0) headers.emplace(uint64_t{experimenter} << 32 | header, &field);
  };
  for (const FieldInfo& field : kFields) {
    if (!field.nxm_name.empty()) headers.emplace(uint64_t{field.experimenter} << 32 | field.nxm_header, &field);
    add(field.oxm_header, 0, field);
  }
  // The ONF's extensions of OpenFlow 1.3 for what 1.5 has in its own class.
  add(kOnfTcpFlags, kOnfExperimenter, kFields[static_cast<size_t>(FieldId::kTcpFlags)]);
  add(kOnfActsetOutput, kOnfExperimenter, kFields[static_cast<size_t>(FieldId::kActsetOutput)]);
  return headers;
}

}  // namespace

const FieldInfo& Field(FieldId id) { return kFields[static_cast<size_t>(id)]; }

absl::Span<const FieldInfo> AllFields() { return kFields; }

const FieldInfo* FindField(std::string_view name) {
  static const NameMap names = MakeNames();
  auto found = names.find(absl::string_view(name.data(), name.size()));
  return found == names.end() ? nullptr : found->second;
}

bool IsUnsupportedField(std::string_view name) {
  constexpr std::string_view kPrefixes[] = {
      "tun_",       "tunnel_id",     "ct_",       "nd_reserved", "nd_options_type",
      "NXM_NX_TUN", "OXM_OF_TUNNEL", "NXM_NX_CT", "NXOXM_ET_",   "ERICOXM_OF_"};
  for (std::string_view prefix : kPrefixes) {
    if (name.starts_with(prefix)) return true;
  }
  return false;
}

const FieldInfo* FindFieldByHeader(uint32_t header, uint32_t experimenter) {
  static const auto headers = MakeHeaders();
  auto found = headers.find(uint64_t{experimenter} << 32 | Unmasked(header, experimenter != 0));
  return found == headers.end() ? nullptr : found->second;
}

}  // namespace sluice
