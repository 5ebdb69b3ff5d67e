// The baseline row of segment_benchmark: what DPDK's libraries do with the same packet. rte_gso_segment copies headers
// and refers to the payload; the checksums are then computed by rte_net over each segment.
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_gso.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_tcp.h>

#include <array>
#include <cstring>

#include "tests/benchmarks/segment_benchmark.h"

namespace sluice {
namespace {

struct Pools {
  rte_mempool* source = nullptr;    // one mbuf holds a whole super-packet
  rte_mempool* direct = nullptr;    // headers
  rte_mempool* indirect = nullptr;  // references to payload
};

// nullptr when DPDK does not start here.
const Pools* MakePools() {
  static const Pools pools = [] {
    Pools made;
    std::array<const char*, 7> words = {"segment_benchmark", "--no-huge",         "--no-pci",  "--no-shconf",
                                        "--no-telemetry",    "--log-level=error", "--lcores=0"};
    std::array<char*, words.size()> arguments;
    for (size_t i = 0; i < words.size(); ++i) arguments[i] = const_cast<char*>(words[i]);
    if (rte_eal_init(arguments.size(), arguments.data()) < 0) return made;
    made.source = rte_pktmbuf_pool_create("source", 8, 0, 0, 65535, 0);
    made.direct = rte_pktmbuf_pool_create("direct", 511, 256, 0, 256, 0);
    made.indirect = rte_pktmbuf_pool_create("indirect", 511, 256, 0, 0, 0);
    return made;
  }();
  const bool ready = pools.source != nullptr && pools.direct != nullptr && pools.indirect != nullptr;
  return ready ? &pools : nullptr;
}

void FillChecksums(rte_mbuf* segment) {
  auto* ip = rte_pktmbuf_mtod_offset(segment, rte_ipv4_hdr*, kL3Offset);
  auto* tcp = rte_pktmbuf_mtod_offset(segment, rte_tcp_hdr*, kL4Offset);
  ip->hdr_checksum = 0;
  ip->hdr_checksum = rte_ipv4_cksum(ip);
  tcp->cksum = 0;
  tcp->cksum = rte_ipv4_udptcp_cksum_mbuf(segment, ip, kL4Offset);
}

void BM_DpdkSegment(benchmark::State& state) {
  const Pools* pools = MakePools();
  if (pools == nullptr) {
    state.SkipWithError("DPDK does not start");
    return;
  }
  const auto segments = static_cast<uint32_t>(state.range(0));
  const std::vector<uint8_t> frame = SuperFrame(segments);
  rte_mbuf* super = rte_pktmbuf_alloc(pools->source);
  super->data_off = 0;
  std::memcpy(rte_pktmbuf_mtod(super, void*), frame.data(), frame.size());
  super->data_len = static_cast<uint16_t>(frame.size());
  super->pkt_len = static_cast<uint32_t>(frame.size());
  super->l2_len = kL3Offset;
  super->l3_len = kL4Offset - kL3Offset;
  super->l4_len = kHeaderLength - kL4Offset;
  super->packet_type = RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV4 | RTE_PTYPE_L4_TCP;

  rte_gso_ctx context = {};
  context.direct_pool = pools->direct;
  context.indirect_pool = pools->indirect;
  context.gso_types = RTE_ETH_TX_OFFLOAD_TCP_TSO;
  context.gso_size = kHeaderLength + kSegmentSize;

  std::array<rte_mbuf*, 64> out;
  for (auto _ : state) {
    super->ol_flags = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_TCP_SEG;
    const int count = rte_gso_segment(super, &context, out.data(), out.size());
    if (count != static_cast<int>(segments)) {
      state.SkipWithError("rte_gso_segment gave another number of segments");
      break;
    }
    for (int i = 0; i < count; ++i) FillChecksums(out[static_cast<size_t>(i)]);
    rte_pktmbuf_free_bulk(out.data(), static_cast<unsigned>(count));
    benchmark::ClobberMemory();
  }
  CountSegments(state, segments);
  rte_pktmbuf_free(super);
}
BENCHMARK(BM_DpdkSegment)->SLUICE_SEGMENT_ARGS;

}  // namespace
}  // namespace sluice
