// Every way a packet can end without leaving, each with one name. received == sent + dropped + consumed.
//
// A super-packet that is dropped whole counts as its wire segments; one that is dropped from segment k on counts the
// segments that did not leave. The names are what users see: stable, lower case.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lib/base/counter.h"

namespace sluice {

// X(enumerator, "name", "what happened")
#define SLUICE_DROP_REASONS(X)                                                                                  \
  /* Receive: what the port could not hand over. */                                                             \
  X(kRxPoolEmpty, "rx_pool_empty", "no buffer to receive into")                                                 \
  X(kRxTruncated, "rx_truncated", "frame longer than the receive buffers")                                      \
  X(kRxRunt, "rx_runt", "shorter than an Ethernet header")                                                      \
  X(kRxVnetShort, "rx_vnet_short", "shorter than its virtio-net header")                                        \
  X(kRxVnetFlags, "rx_vnet_flags", "virtio-net header with unknown flags")                                      \
  X(kRxVnetGsoType, "rx_vnet_gso_type", "virtio-net header with an unknown GSO type")                           \
  X(kRxVnetUfo, "rx_vnet_ufo", "virtio-net header asks for legacy UFO")                                         \
  X(kRxVnetCsumRange, "rx_vnet_csum_range", "virtio-net checksum offsets outside the packet")                   \
  X(kRxVnetHdrLen, "rx_vnet_hdr_len", "virtio-net hdr_len longer than the packet")                              \
  X(kRxVnetGsoSize, "rx_vnet_gso_size", "virtio-net GSO with a segment size of zero")                           \
  X(kRxVnetGsoNoCsum, "rx_vnet_gso_no_csum", "virtio-net GSO without a checksum to complete")                   \
  X(kRxGsoMismatch, "rx_gso_mismatch", "segmentation type does not match the packet's headers")                 \
  X(kRxOverMtu, "rx_over_mtu", "larger than the port's MTU and not segmentable")                                \
  X(kRxPoliced, "rx_policed", "came in faster than the port's ingress policing allows")                         \
  /* Datapath. */                                                                                               \
  X(kNoFlow, "no_flow", "no flow matches and the upcall handler dropped it")                                    \
  X(kActionDrop, "action_drop", "a flow's actions say drop")                                                    \
  X(kExplicitDrop, "explicit_drop", "the drop action")                                                          \
  X(kRecirculationLimit, "recirculation_limit", "recirculated too often")                                       \
  X(kActionDepth, "action_depth", "actions nested too deeply")                                                  \
  X(kNoPort, "no_port", "output to a port that does not exist")                                                 \
  X(kNoHeadroom, "no_headroom", "no room to push a header")                                                     \
  X(kActionMalformed, "action_malformed", "an action needs a header that the packet does not have")             \
  X(kUserspace, "userspace", "sent to userspace and nobody listens")                                            \
  X(kCloneFailed, "clone_failed", "no buffer for a copy")                                                       \
  /* Egress. */                                                                                                 \
  X(kTxOverMtu, "tx_over_mtu", "frame or segment larger than the egress port's MTU")                            \
  X(kTxNotSegmentable, "tx_not_segmentable", "super-packet whose headers cannot be segmented")                  \
  X(kTxChecksumRange, "tx_checksum_range", "postponed checksum outside the packet")                             \
  X(kTxPoolEmpty, "tx_pool_empty", "no buffer for a segment")                                                   \
  X(kTxFull, "tx_full", "the transmit queue is full")                                                           \
  X(kTxPortDown, "tx_port_down", "the port or its device is down or gone")                                      \
  X(kTxRefused, "tx_refused", "the kernel refused the frame")

enum class DropReason : uint8_t {
#define SLUICE_DROP_ENUMERATOR(enumerator, name, text) enumerator,
  SLUICE_DROP_REASONS(SLUICE_DROP_ENUMERATOR)
#undef SLUICE_DROP_ENUMERATOR
};

inline constexpr size_t kDropReasonCount = 0
#define SLUICE_DROP_COUNT(enumerator, name, text) +1
    SLUICE_DROP_REASONS(SLUICE_DROP_COUNT)
#undef SLUICE_DROP_COUNT
    ;

constexpr std::string_view DropReasonName(DropReason reason) {
  constexpr std::array<std::string_view, kDropReasonCount> kNames = {
#define SLUICE_DROP_NAME(enumerator, name, text) name,
      SLUICE_DROP_REASONS(SLUICE_DROP_NAME)
#undef SLUICE_DROP_NAME
  };
  return kNames[static_cast<size_t>(reason)];
}

constexpr std::string_view DropReasonText(DropReason reason) {
  constexpr std::array<std::string_view, kDropReasonCount> kTexts = {
#define SLUICE_DROP_TEXT(enumerator, name, text) text,
      SLUICE_DROP_REASONS(SLUICE_DROP_TEXT)
#undef SLUICE_DROP_TEXT
  };
  return kTexts[static_cast<size_t>(reason)];
}

// Wire frames dropped, by reason. Written by one thread, read by any.
struct DropCounters {
  std::array<Counter, kDropReasonCount> frames{};

  void Add(DropReason reason, uint64_t count = 1) { frames[static_cast<size_t>(reason)] += count; }
  uint64_t operator[](DropReason reason) const { return frames[static_cast<size_t>(reason)]; }
};

}  // namespace sluice
