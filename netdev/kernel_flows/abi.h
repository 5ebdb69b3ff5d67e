// What forward.bpf.c and user space share: the layout of the maps. C, for the one, and C++, for the other.
//
// Everything that decides is in memory that user space has mapped (ports, slots), so that a change there takes one
// store and holds for the next packet, and reading counters takes no system call. Only the hash from a packet's key to
// its slot is changed by bpf(2).
#ifndef SLUICE_NETDEV_KERNEL_FLOWS_ABI_H_
#define SLUICE_NETDEV_KERNEL_FLOWS_ABI_H_

#include <linux/types.h>

#define SLUICE_MAX_KERNEL_PORTS 4096
#define SLUICE_MAX_KERNEL_FLOWS 65536
#define SLUICE_MAX_KERNEL_LANES 16384
#define SLUICE_HISTOGRAM_SIZE 129 /* [n]: packets of n wire frames; [0] is unused */

// Map "flows": hash from this to a slot's index (u32). All that a packet without VLAN tag, IP options, extension
// headers and fragmentation is forwarded by, but for its TCP flags. Network byte order; IPv4 addresses in the first
// word.
struct sluice_flow_key {
  __u16 port; /* of ingress: its index in "ports"; host order */
  __u8 tos;   /* or traffic class */
  __u8 ttl;   /* or hop limit */
  __u8 eth_dst[6];
  __u8 eth_src[6];
  __be16 eth_type;
  __u8 ip_proto;
  __u8 zero;
  __be16 tp_src; /* ICMP: the type, in 16 bits */
  __be16 tp_dst; /* ICMP: the code */
  __be32 ipv6_label;
  __be32 ip_src[4];
  __be32 ip_dst[4];
};

#define SLUICE_SLOT_CLOSED 0
#define SLUICE_SLOT_WAITING 1 /* until user space has done all packets that it got: passed == done */
#define SLUICE_SLOT_OPEN 2
#define SLUICE_NOTHING_DONE 0xffffffffu

// Map "slots": what is done with the packets of one key, and what has been. One cache line.
struct sluice_flow_slot {
  __u32 open;   /* one of those below; all but one leave the packets to user space */
  __u32 egress; /* index in "ports" */
  __u32 lane;   /* key in "lanes" */
  __u32 tcp_flags;
  __u64 packets;      /* a super-packet is one */
  __u64 frames;       /* wire frames: its segments */
  __u64 bytes;        /* of them */
  __u64 last_used_ns; /* CLOCK_MONOTONIC; 0: never */
  __u32 passed;       /* packets that user space got while the slot waited */
  __u32 done;         /* of them, those that user space has sent on; SLUICE_NOTHING_DONE before it has looked */
  __u64 reserved;
};

// Map "ports": written whole with one store. 0: nothing is forwarded from or to this port.
typedef __u64 sluice_port_gate;
#define SLUICE_PORT_GATE(ifindex, mtu) (((__u64)(ifindex) << 32) | (__u32)(mtu))
#define SLUICE_GATE_IFINDEX(gate) ((__u32)((gate) >> 32))
#define SLUICE_GATE_MTU(gate) ((__u32)(gate)) /* bytes of layer 3 */

// Map "lanes": per-CPU hash from a number (u32) to the counters of one pair of ports. All in wire frames but where it
// says packets.
struct sluice_lane {
  __u64 packets;
  __u64 frames;
  __u64 super_packets;
  __u64 bytes;
  __u64 over_mtu;  /* dropped: the egress device's MTU had just become smaller */
  __u64 no_device; /* dropped: the egress device had just gone */
  __u64 larger;    /* packets of more frames than the histogram has places for */
  __u64 histogram[SLUICE_HISTOGRAM_SIZE];
};

// Map "decision": per-CPU array of one. The socket filter says it, the tc program of the same port obeys and clears it.
struct sluice_decision {
  __u32 slot_plus_one; /* 0: no decision */
  __u32 ingress;       /* index in "ports" */
  __u32 length;        /* of the packet, Ethernet header included */
  __u32 ifindex;       /* of egress */
  __u32 l3_length;     /* of the packet, or of its longest segment */
  __u32 frames;
  __u32 wire_bytes;
  __u16 tcp_flags;
  __u8 passes; /* nothing but count it: user space gets it, and the slot waits */
  __u8 is_super;
  __u32 check_segments; /* the kernel knows better how long the segments are */
};

#endif  // SLUICE_NETDEV_KERNEL_FLOWS_ABI_H_
