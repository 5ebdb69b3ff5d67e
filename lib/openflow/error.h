// OfError: what OpenFlow says is wrong, and how each version writes it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "lib/openflow/ofp.h"

namespace sluice {

// Named as in the specifications without their prefix OFP: kBrcBadLen is OFPBRC_BAD_LEN. Nicira's own begin with kNx.
enum class OfError : uint16_t {
  // Hello.
  kHfcIncompatible,
  kHfcEperm,
  // Bad request.
  kBrcBadVersion,
  kBrcBadType,
  kBrcBadStat,
  kBrcBadExperimenter,
  kBrcBadExpType,
  kBrcEperm,
  kBrcBadLen,
  kBrcBufferEmpty,
  kBrcBufferUnknown,
  kBrcBadTableId,
  kBrcIsSlave,
  kBrcBadPort,
  kBrcBadPacket,
  kBrcMultipartBufferOverflow,
  kBrcMultipartRequestTimeout,
  kBrcMultipartReplyTimeout,
  kBrcMultipartBadSched,
  kBrcPipelineFieldsOnly,
  kBrcUnknown,
  kNxBrcNxmInvalid,
  kNxBrcNxmBadType,
  kNxBrcMustBeZero,
  kNxBrcBadReason,
  kNxBrcFmBadEvent,
  kNxBrcUnencodableError,
  kNxBrcBadMatchLen,
  // Bad action.
  kBacBadType,
  kBacBadLen,
  kBacBadExperimenter,
  kBacBadExpType,
  kBacBadOutPort,
  kBacBadArgument,
  kBacEperm,
  kBacTooMany,
  kBacBadQueue,
  kBacBadOutGroup,
  kBacMatchInconsistent,
  kBacUnsupportedOrder,
  kBacBadTag,
  kBacBadSetType,
  kBacBadSetLen,
  kBacBadSetArgument,
  kBacBadSetMask,
  kBacBadMeter,
  kNxBacMustBeZero,
  kNxBacBadConjunction,
  // Bad instruction.
  kBicUnknownInst,
  kBicUnsupInst,
  kBicBadTableId,
  kBicUnsupMetadata,
  kBicUnsupMetadataMask,
  kBicBadExperimenter,
  kBicBadExpType,
  kBicBadLen,
  kBicEperm,
  kBicDupInst,
  // Bad match.
  kBmcBadType,
  kBmcBadLen,
  kBmcBadTag,
  kBmcBadDlAddrMask,
  kBmcBadNwAddrMask,
  kBmcBadWildcards,
  kBmcBadField,
  kBmcBadValue,
  kBmcBadMask,
  kBmcBadPrereq,
  kBmcDupField,
  kBmcEperm,
  // Flow mod.
  kFmfcUnknown,
  kFmfcTableFull,
  kFmfcBadTableId,
  kFmfcOverlap,
  kFmfcEperm,
  kFmfcBadTimeout,
  kFmfcBadCommand,
  kFmfcBadFlags,
  kFmfcCantSync,
  kFmfcBadPriority,
  kFmfcIsSync,
  kNxFmfcHardware,
  kNxFmfcBadTableIdNx,
  // Group mod.
  kGmfcGroupExists,
  kGmfcInvalidGroup,
  kGmfcWeightUnsupported,
  kGmfcOutOfGroups,
  kGmfcOutOfBuckets,
  kGmfcChainingUnsupported,
  kGmfcWatchUnsupported,
  kGmfcLoop,
  kGmfcUnknownGroup,
  kGmfcChainedGroup,
  kGmfcBadType,
  kGmfcBadCommand,
  kGmfcBadBucket,
  kGmfcBadWatch,
  kGmfcEperm,
  kGmfcUnknownBucket,
  kGmfcBucketExists,
  // Ports, tables, queues, configuration.
  kPmfcBadPort,
  kPmfcBadHwAddr,
  kPmfcBadConfig,
  kPmfcBadAdvertise,
  kPmfcEperm,
  kTmfcBadTable,
  kTmfcBadConfig,
  kTmfcEperm,
  kQofcBadPort,
  kQofcBadQueue,
  kQofcEperm,
  kScfcBadFlags,
  kScfcBadLen,
  kScfcEperm,
  // Roles, meters, table features, properties, bundles, async configuration, flow monitors.
  kRrfcStale,
  kRrfcUnsup,
  kRrfcBadRole,
  kMmfcUnknown,
  kMmfcMeterExists,
  kMmfcInvalidMeter,
  kMmfcUnknownMeter,
  kMmfcBadCommand,
  kMmfcBadFlags,
  kMmfcBadRate,
  kMmfcBadBurst,
  kMmfcBadBand,
  kMmfcBadBandValue,
  kMmfcOutOfMeters,
  kMmfcOutOfBands,
  kTffcBadTable,
  kTffcBadMetadata,
  kTffcBadType,
  kTffcBadLen,
  kTffcBadArgument,
  kTffcEperm,
  kTffcTooMany,
  kBpcBadType,
  kBpcBadLen,
  kBpcBadValue,
  kBpcTooMany,
  kBpcDupType,
  kBpcBadExperimenter,
  kBpcBadExpType,
  kBpcBadExpValue,
  kBpcEperm,
  kBfcUnknown,
  kBfcEperm,
  kBfcBadId,
  kBfcBundleExist,
  kBfcBundleClosed,
  kBfcOutOfBundles,
  kBfcBadType,
  kBfcBadFlags,
  kBfcMsgBadLen,
  kBfcMsgBadXid,
  kBfcMsgUnsup,
  kBfcMsgConflict,
  kBfcMsgTooMany,
  kBfcMsgFailed,
  kBfcTimeout,
  kBfcBundleInProgress,
  kAcfcInvalid,
  kAcfcUnsupported,
  kAcfcEperm,
  kMofcUnknown,
  kMofcMonitorExists,
  kMofcInvalidMonitor,
  kMofcUnknownMonitor,
  kMofcBadCommand,
  kMofcBadFlags,
  kMofcBadTableId,
  kMofcBadOut,
  // Tunnel option map.
  kNxTtmfcBadCommand,
  kNxTtmfcBadOptLen,
  kNxTtmfcBadFieldIdx,
  kNxTtmfcTableFull,
  kNxTtmfcAlreadyMapped,
  kNxTtmfcDupEntry,
};

struct OfErrorCode {
  uint32_t experimenter = 0;  // 0: the standard's; 0x00002320: Nicira's vendor error; else an ONF extension
  uint16_t type = 0;
  uint16_t code = 0;
};

// How `version` writes it. Every error has a form in every version: where its own is missing, the nearest that is
// there. Source: the ofp_*_code enumerations of each specification, and Open vSwitch's documented vendor errors.
OfErrorCode ErrorCode(OfError error, OfVersion version);
std::optional<OfError> FindError(OfErrorCode code, OfVersion version);
// "OFPBRC_BAD_LEN".
std::string ErrorName(OfError error);

struct OfFailure {
  OfError error;
  std::string message;  // for the log: the object and what is wrong
};

// A value, or what is wrong.
template <typename T>
class OfResult {
 public:
  OfResult(T value) : value_(std::move(value)) {}              // NOLINT
  OfResult(OfFailure failure) : value_(std::move(failure)) {}  // NOLINT
  OfResult(OfError error, std::string message) : value_(OfFailure{error, std::move(message)}) {}

  bool ok() const { return std::holds_alternative<T>(value_); }
  T& operator*() & { return std::get<T>(value_); }
  const T& operator*() const& { return std::get<T>(value_); }
  T&& operator*() && { return std::get<T>(std::move(value_)); }
  T* operator->() { return &std::get<T>(value_); }
  const T* operator->() const { return &std::get<T>(value_); }
  const OfFailure& failure() const { return std::get<OfFailure>(value_); }

 private:
  std::variant<T, OfFailure> value_;
};

// Nothing, or what is wrong: std::nullopt is success.
using OfStatus = std::optional<OfFailure>;

}  // namespace sluice
