// A second oracle, where DPDK's development files are: its checksums of the same bytes. Only inline functions of its
// headers are used; nothing of it is linked.
#include <gtest/gtest.h>
#include <rte_ip.h>

#include <cstring>
#include <random>
#include <vector>

#include "lib/packet/checksum.h"

namespace sluice {
namespace {

TEST(ChecksumDpdkTest, AgreesOnRandomRanges) {
  std::mt19937 random(20261130);
  std::vector<uint8_t> bytes(70'000);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  for (int round = 0; round < 5000; ++round) {
    const size_t size = random() % (round % 10 == 0 ? 65'536 : 1600);
    const uint8_t* start = &bytes[random() % (bytes.size() - size)];
    ASSERT_EQ(FoldSum(SumBytes(start, size)), rte_raw_cksum(start, size)) << size;
  }
}

TEST(ChecksumDpdkTest, AgreesOnPseudoHeaders) {
  std::mt19937 random(20261130);
  for (int round = 0; round < 5000; ++round) {
    rte_ipv4_hdr four = {};
    four.version_ihl = 0x45;
    four.total_length = Be16(static_cast<uint16_t>(20 + random() % 65'516)).Raw();
    four.next_proto_id = round % 2 == 0 ? 6 : 17;
    four.src_addr = static_cast<uint32_t>(random());
    four.dst_addr = static_cast<uint32_t>(random());
    const uint32_t four_bytes = Be16::FromRaw(four.total_length).Get() - 20u;
    ASSERT_EQ(FoldSum(PseudoHeaderSum4(Be32::FromRaw(four.src_addr), Be32::FromRaw(four.dst_addr), four.next_proto_id,
                                       four_bytes)),
              rte_ipv4_phdr_cksum(&four, 0));

    rte_ipv6_hdr six = {};
    six.payload_len = Be16(static_cast<uint16_t>(random())).Raw();
    six.proto = round % 2 == 0 ? 6 : 17;
    for (uint8_t& byte : six.src_addr) byte = static_cast<uint8_t>(random());
    for (uint8_t& byte : six.dst_addr) byte = static_cast<uint8_t>(random());
    const uint32_t six_bytes = Be16::FromRaw(six.payload_len).Get();
    ASSERT_EQ(FoldSum(PseudoHeaderSum6(six.src_addr, six.dst_addr, six.proto, six_bytes)),
              rte_ipv6_phdr_cksum(&six, 0));
  }
}

}  // namespace
}  // namespace sluice
