// SPDX-License-Identifier: Apache-2.0 OR BSD-2-Clause OR GPL-2.0-only
// The two programs of a port that forward chosen flows inside the kernel.
//
// The kernel shows a packet to packet sockets first and to tc ingress after that, on the same processor and without
// another packet in between. So the decision is made once, in the filter of the port's receive sockets: a packet whose
// key is known is refused there, so that user space does not see it, and the decision is left in a per-CPU place. The
// tc program takes it from there, counts and redirects. What was not decided gets the port's verdict, as before.
//
// A packet that is in any way unusual is not looked up: user space knows what to do with it.
// clang-format off
#include <linux/bpf.h>  // first: the helpers need its types
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/pkt_cls.h>
#include <linux/tcp.h>
#include <linux/udp.h>
// clang-format on

#include "netdev/kernel_flows/abi.h"

#define TAKE 0xffffffffu /* as many bytes as there are */
#define REFUSE 0
#define ICMP_HEADER_LENGTH 8
#define FRAGMENT_BITS 0x3fff /* IPv4: more fragments, and the offset */

// bpf_check_mtu() is for programs that may be used under the GPL; the kernel knows this choice of licences by this
// name.
char LICENSE[] SEC("license") = "Dual BSD/GPL";

// The port's index in "ports". Set before the program is loaded.
const volatile __u32 this_port = 0;

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, SLUICE_MAX_KERNEL_FLOWS);
  __type(key, struct sluice_flow_key);
  __type(value, __u32);
} flows SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, SLUICE_MAX_KERNEL_FLOWS);
  __type(key, __u32);
  __type(value, struct sluice_flow_slot);
} slots SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, SLUICE_MAX_KERNEL_PORTS);
  __type(key, __u32);
  __type(value, sluice_port_gate);
} ports SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, SLUICE_MAX_KERNEL_LANES);
  __type(key, __u32);
  __type(value, struct sluice_lane);
} lanes SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct sluice_decision);
} decision SEC(".maps");

// What tc does with packets that were not decided: a TC_ACT_ value. The port's own (KernelHook).
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, __u32);
} verdict SEC(".maps");

// A packet's headers as far as they are needed, the network header aligned.
struct headers {
  __u16 padding;
  struct ethhdr ethernet;
  union {
    struct iphdr ipv4;
    struct ipv6hdr ipv6;
    __u8 version_length;
    __be32 word;
  };
};
_Static_assert(__builtin_offsetof(struct headers, ipv4) == 2 + ETH_HLEN, "the headers are read as they follow");

static __always_inline __u64 gate_of(__u32 port) {
  sluice_port_gate* gate = bpf_map_lookup_elem(&ports, &port);
  return gate ? *(volatile sluice_port_gate*)gate : 0;
}

// Reads the network header into `key`. Returns the offset of the transport header and sets the end of the datagram, or
// returns 0 for what is left to user space.
static __always_inline __u32 read_network(struct __sk_buff* skb, struct sluice_flow_key* key, __u32* end) {
  struct headers h;
  if (bpf_skb_load_bytes(skb, 0, &h.ethernet, ETH_HLEN + sizeof(struct iphdr)) < 0) return 0;
  __builtin_memcpy(key->eth_dst, h.ethernet.h_dest, ETH_ALEN);
  __builtin_memcpy(key->eth_src, h.ethernet.h_source, ETH_ALEN);
  key->eth_type = h.ethernet.h_proto;
  if (h.ethernet.h_proto == bpf_htons(ETH_P_IP)) {
    __u32 total = bpf_ntohs(h.ipv4.tot_len);
    // Version 4 and no options, in one byte.
    if (h.version_length != 0x45 || (h.ipv4.frag_off & bpf_htons(FRAGMENT_BITS)) || total < sizeof(struct iphdr))
      return 0;
    key->tos = h.ipv4.tos;
    key->ttl = h.ipv4.ttl;
    key->ip_proto = h.ipv4.protocol;
    key->ip_src[0] = h.ipv4.saddr;
    key->ip_dst[0] = h.ipv4.daddr;
    *end = ETH_HLEN + total;
    return ETH_HLEN + sizeof(struct iphdr);
  }
  if (h.ethernet.h_proto != bpf_htons(ETH_P_IPV6)) return 0;
  if (bpf_skb_load_bytes(skb, ETH_HLEN, &h.ipv6, sizeof(struct ipv6hdr)) < 0) return 0;
  __u32 first = bpf_ntohl(h.word);
  if (first >> 28 != 6) return 0;
  key->tos = first >> 20;
  key->ipv6_label = bpf_htonl(first & 0xfffff);
  key->ttl = h.ipv6.hop_limit;
  key->ip_proto = h.ipv6.nexthdr;
  __builtin_memcpy(key->ip_src, &h.ipv6.saddr, sizeof(key->ip_src));
  __builtin_memcpy(key->ip_dst, &h.ipv6.daddr, sizeof(key->ip_dst));
  *end = ETH_HLEN + sizeof(struct ipv6hdr) + bpf_ntohs(h.ipv6.payload_len);
  return ETH_HLEN + sizeof(struct ipv6hdr);
}

// Reads the transport header at `offset` of a datagram that ends at `end` into `key`. Returns the header's length, or 0
// for what is left to user space.
static __always_inline __u32 read_transport(struct __sk_buff* skb, struct sluice_flow_key* key, __u32 offset, __u32 end,
                                            __u16* tcp_flags) {
  __u32 left = end - offset;
  if (key->ip_proto == IPPROTO_TCP) {
    __be16 words[7];  // up to the flags
    if (left < sizeof(struct tcphdr) || bpf_skb_load_bytes(skb, offset, words, sizeof(words)) < 0) return 0;
    __u32 length = (bpf_ntohs(words[6]) >> 12) * 4;
    if (length < sizeof(struct tcphdr) || length > left) return 0;
    key->tp_src = words[0];
    key->tp_dst = words[1];
    *tcp_flags = bpf_ntohs(words[6]) & 0xfff;
    return length;
  }
  if (key->ip_proto == IPPROTO_UDP) {
    __be16 words[3];
    if (left < sizeof(struct udphdr) || bpf_skb_load_bytes(skb, offset, words, sizeof(words)) < 0) return 0;
    __u32 length = bpf_ntohs(words[2]);
    // Of a super-packet only the segments have a length to be trusted.
    if (!skb->gso_size && (length < sizeof(struct udphdr) || length > left)) return 0;
    key->tp_src = words[0];
    key->tp_dst = words[1];
    return sizeof(struct udphdr);
  }
  __u8 icmp = key->eth_type == bpf_htons(ETH_P_IP) ? IPPROTO_ICMP : IPPROTO_ICMPV6;
  if (key->ip_proto == icmp && !skb->gso_size) {
    __u8 type_code[2];
    if (left < ICMP_HEADER_LENGTH || bpf_skb_load_bytes(skb, offset, type_code, sizeof(type_code)) < 0) return 0;
    key->tp_src = bpf_htons(type_code[0]);
    key->tp_dst = bpf_htons(type_code[1]);
    return ICMP_HEADER_LENGTH;
  }
  return 0;
}

// Whether the packet is of a flow that is forwarded here; then `d` says how.
static __always_inline int decide(struct __sk_buff* skb, struct sluice_decision* d) {
  __u64 in = gate_of(this_port);
  if (!in || skb->vlan_present) return 0;

  struct sluice_flow_key key = {.port = this_port};
  __u32 end = 0;
  __u16 tcp_flags = 0;
  __u32 l4 = read_network(skb, &key, &end);
  if (!l4 || end > skb->len || l4 > end) return 0;
  __u32 header = read_transport(skb, &key, l4, end, &tcp_flags);
  if (!header) return 0;

  __u32* index = bpf_map_lookup_elem(&flows, &key);
  if (!index) return 0;
  __u32 slot_index = *index;
  struct sluice_flow_slot* slot = bpf_map_lookup_elem(&slots, &slot_index);
  if (!slot) return 0;
  __u32 open = *(volatile __u32*)&slot->open;
  if (open == SLUICE_SLOT_CLOSED) return 0;
  __u64 out = gate_of(slot->egress);
  if (!out) return 0;

  __u32 length = skb->len;
  __u32 size = skb->gso_size;
  header += l4;  // all headers
  d->frames = 1;
  d->wire_bytes = length;
  d->l3_length = length - ETH_HLEN;
  d->is_super = 0;
  d->check_segments = 0;
  if (size) {
    if (length <= header) return 0;
    __u32 segments = skb->gso_segs;
    d->frames = segments ? segments : (length - header + size - 1) / size;
    d->wire_bytes = length + (d->frames - 1) * header;
    d->l3_length = header - ETH_HLEN + size;
    d->is_super = 1;
    d->check_segments = key.ip_proto == IPPROTO_UDP;  // may be a tunnel, with more headers inside
  } else if (d->l3_length > SLUICE_GATE_MTU(in)) {
    return 0;
  }
  if (d->l3_length > SLUICE_GATE_MTU(out)) return 0;

  d->ingress = this_port;
  d->length = length;
  d->ifindex = SLUICE_GATE_IFINDEX(out);
  d->tcp_flags = tcp_flags;
  // Packets of this flow that user space still has would be overtaken.
  d->passes = open == SLUICE_SLOT_WAITING && *(volatile __u32*)&slot->passed != *(volatile __u32*)&slot->done;
  d->slot_plus_one = slot_index + 1;
  return 1;
}

SEC("socket")
int sluice_filter(struct __sk_buff* skb) {
  if (skb->pkt_type == PACKET_OUTGOING) return REFUSE;
  __u32 zero = 0;
  struct sluice_decision* d = bpf_map_lookup_elem(&decision, &zero);
  if (!d) return TAKE;
  d->slot_plus_one = 0;
  return decide(skb, d) && !d->passes ? REFUSE : TAKE;
}

// Counts the packet. Returns whether it may go: its device may have changed a moment ago, and user space does not know
// yet.
static __always_inline int account(struct __sk_buff* skb, const struct sluice_decision* d) {
  __u32 slot_index = d->slot_plus_one - 1;
  struct sluice_flow_slot* slot = bpf_map_lookup_elem(&slots, &slot_index);
  if (!slot) return 0;
  __u32 lane_number = slot->lane;
  struct sluice_lane* lane = bpf_map_lookup_elem(&lanes, &lane_number);
  if (!lane) return 0;

  __u32 mtu = 0;
  int fits = bpf_check_mtu(skb, d->ifindex, &mtu, 0, d->check_segments ? BPF_MTU_CHK_SEGS : 0);
  if (fits < 0) {
    lane->no_device += d->frames;
    return 0;
  }
  if (fits > 0 || d->l3_length > mtu) {
    lane->over_mtu += d->frames;
    return 0;
  }

  // A flow may run on several processors; what counts ports is this processor's own.
  __sync_fetch_and_add(&slot->packets, 1);
  __sync_fetch_and_add(&slot->frames, d->frames);
  __sync_fetch_and_add(&slot->bytes, d->wire_bytes);
  slot->last_used_ns = bpf_ktime_get_ns();
  if (d->tcp_flags & ~slot->tcp_flags) __sync_fetch_and_or(&slot->tcp_flags, d->tcp_flags);
  lane->packets += 1;
  lane->frames += d->frames;
  lane->bytes += d->wire_bytes;
  lane->super_packets += d->is_super;
  if (d->frames < SLUICE_HISTOGRAM_SIZE) {
    lane->histogram[d->frames] += 1;
  } else {
    lane->larger += 1;
  }
  return 1;
}

SEC("tc")
int sluice_forward(struct __sk_buff* skb) {
  __u32 zero = 0;
  __u32* otherwise = bpf_map_lookup_elem(&verdict, &zero);
  if (!otherwise) return TC_ACT_SHOT;
  struct sluice_decision* d = bpf_map_lookup_elem(&decision, &zero);
  if (!d || !d->slot_plus_one) return *otherwise;
  // One that was made for another packet (its tc program was not there any more) is void.
  if (d->ingress != this_port || d->length != skb->len) {
    d->slot_plus_one = 0;
    return *otherwise;
  }
  if (d->passes) {
    // Now, when it is in user space's queue for sure.
    __u32 slot_index = d->slot_plus_one - 1;
    struct sluice_flow_slot* slot = bpf_map_lookup_elem(&slots, &slot_index);
    if (slot) __sync_fetch_and_add(&slot->passed, 1);
    d->slot_plus_one = 0;
    return *otherwise;
  }
  int go = account(skb, d);
  d->slot_plus_one = 0;
  return go ? bpf_redirect(d->ifindex, 0) : TC_ACT_SHOT;
}
