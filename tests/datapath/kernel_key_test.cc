#include "datapath/kernel_key.h"

#include <gtest/gtest.h>

#include <cstring>

#include "lib/packet/headers.h"

namespace sluice {
namespace {

FlowKey TcpKey() {
  FlowKey key;
  key.in_port = 3;
  key.eth_dst = {2, 0, 0, 0, 0, 2};
  key.eth_src = {2, 0, 0, 0, 0, 1};
  key.eth_type = Be16(kEthTypeIpv4);
  key.ip_proto = kIpProtoTcp;
  key.ip_tos = 0x12;
  key.ip_ttl = 64;
  key.ipv4_src = Be32(0x0a000001);
  key.ipv4_dst = Be32(0x0a000002);
  key.tp_src = Be16(1000);
  key.tp_dst = Be16(80);
  key.tcp_flags = Be16(0x010);
  return key;
}

FlowKey Ipv6Key(uint8_t protocol) {
  FlowKey key = TcpKey();
  key.eth_type = Be16(kEthTypeIpv6);
  key.ip_proto = protocol;
  key.ipv4_src = key.ipv4_dst = Be32(0);
  key.ipv6_src[15] = 1;
  key.ipv6_dst[15] = 2;
  key.ipv6_label = Be32(0x12345);
  return key;
}

template <typename Change>
FlowKey Changed(FlowKey key, Change change) {
  change(key);
  return key;
}

TEST(KernelKeyTest, HasTheHeadersInNetworkByteOrder) {
  auto key = MakeKernelKey(TcpKey(), 7);
  ASSERT_TRUE(key.has_value());
  EXPECT_EQ(key->port, 7);
  EXPECT_EQ(key->tos, 0x12);
  EXPECT_EQ(key->ttl, 64);
  EXPECT_EQ(key->ip_proto, kIpProtoTcp);
  EXPECT_EQ(std::memcmp(&key->eth_type, "\x08\x00", 2), 0);
  EXPECT_EQ(std::memcmp(&key->tp_src, "\x03\xe8", 2), 0);
  EXPECT_EQ(std::memcmp(&key->tp_dst, "\x00\x50", 2), 0);
  EXPECT_EQ(std::memcmp(&key->ip_src, "\x0a\x00\x00\x01\x00\x00", 6), 0);
  EXPECT_EQ(std::memcmp(&key->ip_dst, "\x0a\x00\x00\x02\x00\x00", 6), 0);

  auto ipv6 = MakeKernelKey(Ipv6Key(kIpProtoUdp), 7);
  ASSERT_TRUE(ipv6.has_value());
  EXPECT_EQ(std::memcmp(&ipv6->ipv6_label, "\x00\x01\x23\x45", 4), 0);
  EXPECT_EQ(reinterpret_cast<const uint8_t*>(ipv6->ip_dst)[15], 2);
}

TEST(KernelKeyTest, OnlyWhatTheProgramsLookUpHasAKey) {
  EXPECT_TRUE(MakeKernelKey(TcpKey(), 0).has_value());
  EXPECT_TRUE(MakeKernelKey(Ipv6Key(kIpProtoIcmpv6), 0).has_value());
  const FlowKey others[] = {
      Changed(TcpKey(), [](FlowKey& k) { k.vlan_tci = Be16(kVlanPresent | 7); }),
      Changed(TcpKey(), [](FlowKey& k) { k.ip_frag = kFragAny; }),
      Changed(TcpKey(), [](FlowKey& k) { k.recirc_id = 1; }),
      Changed(TcpKey(), [](FlowKey& k) { k.skb_mark = 1; }),
      Changed(TcpKey(), [](FlowKey& k) { k.ip_proto = kIpProtoSctp; }),
      Changed(TcpKey(), [](FlowKey& k) { k.ip_proto = kIpProtoIcmpv6; }),
      Changed(TcpKey(), [](FlowKey& k) { k.eth_type = Be16(kEthTypeArp); }),
      Changed(Ipv6Key(kIpProtoIcmpv6), [](FlowKey& k) { k.tp_src = Be16(135); }),
      Changed(Ipv6Key(kIpProtoIcmpv6), [](FlowKey& k) { k.tp_src = Be16(136); }),
  };
  for (const FlowKey& key : others) EXPECT_FALSE(MakeKernelKey(key, 0).has_value()) << &key - others;
}

TEST(KernelKeyTest, MaskMustBeDecidedByTheKey) {
  FlowMask mask;
  EXPECT_TRUE(KernelKeyDecides(mask, TcpKey()));
  std::memset(static_cast<void*>(&mask), 0xff, sizeof(mask));
  mask.tcp_flags = Be16(0);
  EXPECT_TRUE(KernelKeyDecides(mask, TcpKey()));
  FlowMask flags;
  flags.tcp_flags = Be16(0x002);
  EXPECT_FALSE(KernelKeyDecides(flags, TcpKey()));
  EXPECT_TRUE(KernelKeyDecides(flags, Ipv6Key(kIpProtoUdp))) << "there are no TCP flags";
}

TEST(KernelKeyTest, OnlyOneOutputAndNothingElse) {
  EXPECT_EQ(OnlyOutput({Action{OutputAction{5}}}), 5u);
  EXPECT_FALSE(OnlyOutput({}).has_value());
  EXPECT_FALSE(OnlyOutput({Action{DropAction{}}}).has_value());
  EXPECT_FALSE(OnlyOutput({Action{OutputAction{5}}, Action{OutputAction{6}}}).has_value());
  EXPECT_FALSE(OnlyOutput({Action{PopVlanAction{}}, Action{OutputAction{6}}}).has_value());
}

}  // namespace
}  // namespace sluice
