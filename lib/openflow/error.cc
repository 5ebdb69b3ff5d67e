#include "lib/openflow/error.h"

#include <array>

namespace sluice {
namespace {

using enum OfVersion;

// Who gave the number: the specification; Nicira, whose errors have a type and a code up to 1.1 and a code alone later;
// or the ONF in an extension.
enum Origin : uint8_t { kStandard, kNicira, kOnf };

constexpr uint32_t kNiciraId = 0x00002320;
constexpr uint32_t kOnfId = 0x4f4e4600;
constexpr uint16_t kExperimenterType = 0xffff;

struct ErrorForm {
  OfVersion first = k15;
  OfVersion last = k10;  // before `first`: no form
  Origin origin = kStandard;
  uint16_t type = 0;
  uint16_t code = 0;

  bool Covers(OfVersion version) const { return first <= version && version <= last; }
  OfErrorCode Code(OfVersion version) const {
    if (origin == kStandard) return {0, type, code};
    uint16_t written = origin == kOnf || version >= k12 ? kExperimenterType : type;
    return {origin == kOnf ? kOnfId : kNiciraId, written, code};
  }
};

struct ErrorRow {
  OfError error;
  const char* name;
  std::array<ErrorForm, 4> forms;
};

// In the order of the enumeration.
constexpr ErrorRow kErrors[] = {
    {OfError::kHfcIncompatible, "OFPHFC_INCOMPATIBLE", {{{k10, k15, kStandard, 0, 0}}}},
    {OfError::kHfcEperm, "OFPHFC_EPERM", {{{k10, k15, kStandard, 0, 1}}}},
    {OfError::kBrcBadVersion, "OFPBRC_BAD_VERSION", {{{k10, k15, kStandard, 1, 0}}}},
    {OfError::kBrcBadType, "OFPBRC_BAD_TYPE", {{{k10, k15, kStandard, 1, 1}}}},
    {OfError::kBrcBadStat, "OFPBRC_BAD_STAT", {{{k10, k15, kStandard, 1, 2}}}},
    {OfError::kBrcBadExperimenter, "OFPBRC_BAD_VENDOR", {{{k10, k15, kStandard, 1, 3}}}},
    {OfError::kBrcBadExpType, "OFPBRC_BAD_SUBTYPE", {{{k10, k15, kStandard, 1, 4}}}},
    {OfError::kBrcEperm, "OFPBRC_EPERM", {{{k10, k15, kStandard, 1, 5}}}},
    {OfError::kBrcBadLen, "OFPBRC_BAD_LEN", {{{k10, k15, kStandard, 1, 6}}}},
    {OfError::kBrcBufferEmpty, "OFPBRC_BUFFER_EMPTY", {{{k10, k15, kStandard, 1, 7}}}},
    {OfError::kBrcBufferUnknown, "OFPBRC_BUFFER_UNKNOWN", {{{k10, k15, kStandard, 1, 8}}}},
    {OfError::kBrcBadTableId, "OFPBRC_BAD_TABLE_ID", {{{k10, k10, kNicira, 1, 512}, {k11, k15, kStandard, 1, 9}}}},
    {OfError::kBrcIsSlave, "OFPBRC_IS_SECONDARY", {{{k10, k11, kStandard, 1, 5}, {k12, k15, kStandard, 1, 10}}}},
    {OfError::kBrcBadPort, "OFPBRC_BAD_PORT", {{{k10, k11, kNicira, 1, 514}, {k12, k15, kStandard, 1, 11}}}},
    {OfError::kBrcBadPacket, "OFPBRC_BAD_PACKET", {{{k12, k15, kStandard, 1, 12}}}},
    {OfError::kBrcMultipartBufferOverflow, "OFPBRC_MULTIPART_BUFFER_OVERFLOW", {{{k13, k15, kStandard, 1, 13}}}},
    {OfError::kBrcMultipartRequestTimeout, "OFPBRC_MULTIPART_REQUEST_TIMEOUT", {{{k14, k15, kStandard, 1, 14}}}},
    {OfError::kBrcMultipartReplyTimeout, "OFPBRC_MULTIPART_REPLY_TIMEOUT", {{{k14, k15, kStandard, 1, 15}}}},
    {OfError::kBrcMultipartBadSched, "OFPBRC_MULTIPART_BAD_SCHED", {{{k15, k15, kStandard, 1, 16}}}},
    {OfError::kBrcPipelineFieldsOnly, "OFPBRC_PIPELINE_FIELDS_ONLY", {{{k15, k15, kStandard, 1, 17}}}},
    {OfError::kBrcUnknown, "OFPBRC_UNKNOWN", {{{k15, k15, kStandard, 1, 18}}}},
    {OfError::kNxBrcNxmInvalid, "NXBRC_NXM_INVALID", {{{k10, k11, kNicira, 1, 256}, {k12, k15, kNicira, 0, 2}}}},
    {OfError::kNxBrcNxmBadType, "NXBRC_NXM_BAD_TYPE", {{{k10, k11, kNicira, 1, 257}, {k12, k15, kNicira, 0, 3}}}},
    {OfError::kNxBrcMustBeZero, "NXBRC_MUST_BE_ZERO", {{{k10, k11, kNicira, 1, 515}, {k12, k15, kNicira, 0, 4}}}},
    {OfError::kNxBrcBadReason, "NXBRC_BAD_REASON", {{{k10, k11, kNicira, 1, 516}, {k12, k15, kNicira, 0, 5}}}},
    {OfError::kNxBrcFmBadEvent, "NXBRC_FM_BAD_EVENT", {{{k10, k11, kNicira, 1, 520}, {k12, k15, kNicira, 0, 9}}}},
    {OfError::kNxBrcUnencodableError,
     "NXBRC_UNENCODABLE_ERROR",
     {{{k10, k11, kNicira, 1, 521}, {k12, k15, kNicira, 0, 10}}}},
    {OfError::kNxBrcBadMatchLen, "OFPBMC_BAD_LEN", {{{k11, k15, kStandard, 4, 1}}}},
    {OfError::kBacBadType, "OFPBAC_BAD_TYPE", {{{k10, k15, kStandard, 2, 0}}}},
    {OfError::kBacBadLen, "OFPBAC_BAD_LEN", {{{k10, k15, kStandard, 2, 1}}}},
    {OfError::kBacBadExperimenter, "OFPBAC_BAD_VENDOR", {{{k10, k15, kStandard, 2, 2}}}},
    {OfError::kBacBadExpType, "OFPBAC_BAD_VENDOR_TYPE", {{{k10, k15, kStandard, 2, 3}}}},
    {OfError::kBacBadOutPort, "OFPBAC_BAD_OUT_PORT", {{{k10, k15, kStandard, 2, 4}}}},
    {OfError::kBacBadArgument, "OFPBAC_BAD_ARGUMENT", {{{k10, k15, kStandard, 2, 5}}}},
    {OfError::kBacEperm, "OFPBAC_EPERM", {{{k10, k15, kStandard, 2, 6}}}},
    {OfError::kBacTooMany, "OFPBAC_TOO_MANY", {{{k10, k15, kStandard, 2, 7}}}},
    {OfError::kBacBadQueue, "OFPBAC_BAD_QUEUE", {{{k10, k15, kStandard, 2, 8}}}},
    {OfError::kBacBadOutGroup, "OFPBAC_BAD_OUT_GROUP", {{{k10, k10, kNicira, 2, 9}, {k11, k15, kStandard, 2, 9}}}},
    {OfError::kBacMatchInconsistent,
     "OFPBAC_MATCH_INCONSISTENT",
     {{{k10, k10, kNicira, 1, 522}, {k11, k15, kStandard, 2, 10}}}},
    {OfError::kBacUnsupportedOrder, "OFPBAC_UNSUPPORTED_ORDER", {{{k11, k15, kStandard, 2, 11}}}},
    {OfError::kBacBadTag, "OFPBAC_BAD_TAG", {{{k11, k15, kStandard, 2, 12}}}},
    {OfError::kBacBadSetType, "OFPBAC_BAD_SET_TYPE", {{{k10, k11, kNicira, 1, 523}, {k12, k15, kStandard, 2, 13}}}},
    {OfError::kBacBadSetLen, "OFPBAC_BAD_SET_LEN", {{{k10, k11, kNicira, 1, 524}, {k12, k15, kStandard, 2, 14}}}},
    {OfError::kBacBadSetArgument,
     "OFPBAC_BAD_SET_ARGUMENT",
     {{{k10, k11, kNicira, 1, 525}, {k12, k15, kStandard, 2, 15}}}},
    {OfError::kBacBadSetMask, "OFPBAC_BAD_SET_MASK", {{{k13, k14, kOnf, 0, 4250}, {k15, k15, kStandard, 2, 16}}}},
    {OfError::kBacBadMeter, "OFPBAC_BAD_METER", {{{k15, k15, kStandard, 2, 17}}}},
    {OfError::kNxBacMustBeZero, "NXBAC_MUST_BE_ZERO", {{{k10, k11, kNicira, 2, 256}, {k12, k15, kNicira, 0, 11}}}},
    {OfError::kNxBacBadConjunction,
     "NXBAC_BAD_CONJUNCTION",
     {{{k10, k11, kNicira, 2, 526}, {k12, k15, kNicira, 0, 15}}}},
    {OfError::kBicUnknownInst, "OFPBIC_UNKNOWN_INST", {{{k11, k15, kStandard, 3, 0}}}},
    {OfError::kBicUnsupInst, "OFPBIC_UNSUP_INST", {{{k10, k10, kNicira, 2, 257}, {k11, k15, kStandard, 3, 1}}}},
    {OfError::kBicBadTableId, "OFPBIC_BAD_TABLE_ID", {{{k11, k15, kStandard, 3, 2}}}},
    {OfError::kBicUnsupMetadata, "OFPBIC_UNSUP_METADATA", {{{k11, k15, kStandard, 3, 3}}}},
    {OfError::kBicUnsupMetadataMask, "OFPBIC_UNSUP_METADATA_MASK", {{{k11, k15, kStandard, 3, 4}}}},
    {OfError::kBicBadExperimenter, "OFPBIC_BAD_EXPERIMENTER", {{{k11, k15, kStandard, 3, 5}}}},
    {OfError::kBicBadExpType, "OFPBIC_BAD_EXP_TYPE", {{{k11, k11, kStandard, 3, 5}, {k12, k15, kStandard, 3, 6}}}},
    {OfError::kBicBadLen, "OFPBIC_BAD_LEN", {{{k12, k15, kStandard, 3, 7}}}},
    {OfError::kBicEperm, "OFPBIC_EPERM", {{{k12, k15, kStandard, 3, 8}}}},
    {OfError::kBicDupInst,
     "OFPBIC_DUP_INST",
     {{{k11, k11, kNicira, 3, 256}, {k12, k13, kOnf, 0, 2600}, {k14, k15, kStandard, 3, 9}}}},
    {OfError::kBmcBadType, "OFPBMC_BAD_TYPE", {{{k11, k15, kStandard, 4, 0}}}},
    {OfError::kBmcBadLen, "OFPBMC_BAD_LEN", {{{k11, k15, kStandard, 4, 1}}}},
    {OfError::kBmcBadTag, "OFPBMC_BAD_TAG", {{{k11, k15, kStandard, 4, 2}}}},
    {OfError::kBmcBadDlAddrMask, "OFPBMC_BAD_DL_ADDR_MASK", {{{k11, k15, kStandard, 4, 3}}}},
    {OfError::kBmcBadNwAddrMask, "OFPBMC_BAD_NW_ADDR_MASK", {{{k11, k15, kStandard, 4, 4}}}},
    {OfError::kBmcBadWildcards, "OFPBMC_BAD_WILDCARDS", {{{k10, k10, kNicira, 1, 262}, {k11, k15, kStandard, 4, 5}}}},
    {OfError::kBmcBadField, "OFPBMC_BAD_FIELD", {{{k10, k10, kNicira, 0, 263}, {k11, k15, kStandard, 4, 6}}}},
    {OfError::kBmcBadValue, "OFPBMC_BAD_VALUE", {{{k10, k10, kNicira, 1, 258}, {k11, k15, kStandard, 4, 7}}}},
    {OfError::kBmcBadMask, "OFPBMC_BAD_MASK", {{{k10, k11, kNicira, 1, 259}, {k12, k15, kStandard, 4, 8}}}},
    {OfError::kBmcBadPrereq, "OFPBMC_BAD_PREREQ", {{{k10, k11, kNicira, 1, 260}, {k12, k15, kStandard, 4, 9}}}},
    {OfError::kBmcDupField, "OFPBMC_DUP_FIELD", {{{k10, k11, kNicira, 1, 261}, {k12, k15, kStandard, 4, 10}}}},
    {OfError::kBmcEperm, "OFPBMC_EPERM", {{{k12, k15, kStandard, 4, 11}}}},
    {OfError::kFmfcUnknown, "OFPFMFC_UNKNOWN", {{{k11, k15, kStandard, 5, 0}}}},
    {OfError::kFmfcTableFull, "OFPFMFC_TABLE_FULL", {{{k10, k10, kStandard, 3, 0}, {k11, k15, kStandard, 5, 1}}}},
    {OfError::kFmfcBadTableId, "OFPFMFC_BAD_TABLE_ID", {{{k11, k15, kStandard, 5, 2}}}},
    {OfError::kFmfcOverlap, "OFPFMFC_OVERLAP", {{{k10, k10, kStandard, 3, 1}, {k11, k15, kStandard, 5, 3}}}},
    {OfError::kFmfcEperm, "OFPFMFC_EPERM", {{{k10, k10, kStandard, 3, 2}, {k11, k15, kStandard, 5, 4}}}},
    {OfError::kFmfcBadTimeout, "OFPFMFC_BAD_TIMEOUT", {{{k11, k15, kStandard, 5, 5}}}},
    {OfError::kFmfcBadCommand, "OFPFMFC_BAD_COMMAND", {{{k10, k10, kStandard, 3, 4}, {k11, k15, kStandard, 5, 6}}}},
    {OfError::kFmfcBadFlags,
     "OFPFMFC_BAD_FLAGS",
     {{{k10, k10, kNicira, 3, 258}, {k11, k11, kNicira, 5, 258}, {k12, k15, kStandard, 5, 7}}}},
    {OfError::kFmfcCantSync, "OFPFMFC_CANT_SYNC", {{{k14, k15, kStandard, 5, 8}}}},
    {OfError::kFmfcBadPriority, "OFPFMFC_BAD_PRIORITY", {{{k14, k15, kStandard, 5, 9}}}},
    {OfError::kFmfcIsSync, "OFPFMFC_IS_SYNC", {{{k15, k15, kStandard, 5, 10}}}},
    {OfError::kNxFmfcHardware, "NXFMFC_HARDWARE", {{{k10, k11, kNicira, 5, 256}, {k12, k15, kNicira, 0, 12}}}},
    {OfError::kNxFmfcBadTableIdNx, "NXFMFC_BAD_TABLE_ID", {{{k10, k11, kNicira, 5, 257}, {k12, k15, kNicira, 0, 13}}}},
    {OfError::kGmfcGroupExists, "OFPGMFC_GROUP_EXISTS", {{{k10, k10, kNicira, 6, 0}, {k11, k15, kStandard, 6, 0}}}},
    {OfError::kGmfcInvalidGroup, "OFPGMFC_INVALID_GROUP", {{{k10, k10, kNicira, 6, 1}, {k11, k15, kStandard, 6, 1}}}},
    {OfError::kGmfcWeightUnsupported,
     "OFPGMFC_WEIGHT_UNSUPPORTED",
     {{{k10, k10, kNicira, 6, 2}, {k11, k15, kStandard, 6, 2}}}},
    {OfError::kGmfcOutOfGroups, "OFPGMFC_OUT_OF_GROUPS", {{{k10, k10, kNicira, 6, 3}, {k11, k15, kStandard, 6, 3}}}},
    {OfError::kGmfcOutOfBuckets, "OFPGMFC_OUT_OF_BUCKETS", {{{k10, k10, kNicira, 6, 4}, {k11, k15, kStandard, 6, 4}}}},
    {OfError::kGmfcChainingUnsupported,
     "OFPGMFC_CHAINING_UNSUPPORTED",
     {{{k10, k10, kNicira, 6, 5}, {k11, k15, kStandard, 6, 5}}}},
    {OfError::kGmfcWatchUnsupported,
     "OFPGMFC_WATCH_UNSUPPORTED",
     {{{k10, k10, kNicira, 6, 6}, {k11, k15, kStandard, 6, 6}}}},
    {OfError::kGmfcLoop, "OFPGMFC_LOOP", {{{k10, k10, kNicira, 6, 7}, {k11, k15, kStandard, 6, 7}}}},
    {OfError::kGmfcUnknownGroup, "OFPGMFC_UNKNOWN_GROUP", {{{k10, k10, kNicira, 6, 8}, {k11, k15, kStandard, 6, 8}}}},
    {OfError::kGmfcChainedGroup, "OFPGMFC_CHAINED_GROUP", {{{k10, k10, kNicira, 6, 9}, {k12, k15, kStandard, 6, 9}}}},
    {OfError::kGmfcBadType, "OFPGMFC_BAD_TYPE", {{{k10, k10, kNicira, 6, 10}, {k12, k15, kStandard, 6, 10}}}},
    {OfError::kGmfcBadCommand, "OFPGMFC_BAD_COMMAND", {{{k10, k10, kNicira, 6, 11}, {k12, k15, kStandard, 6, 11}}}},
    {OfError::kGmfcBadBucket, "OFPGMFC_BAD_BUCKET", {{{k10, k10, kNicira, 6, 12}, {k12, k15, kStandard, 6, 12}}}},
    {OfError::kGmfcBadWatch, "OFPGMFC_BAD_WATCH", {{{k10, k10, kNicira, 6, 13}, {k12, k15, kStandard, 6, 13}}}},
    {OfError::kGmfcEperm, "OFPGMFC_EPERM", {{{k10, k10, kNicira, 6, 14}, {k12, k15, kStandard, 6, 14}}}},
    {OfError::kGmfcUnknownBucket,
     "OFPGMFC_UNKNOWN_BUCKET",
     {{{k10, k10, kNicira, 6, 15}, {k15, k15, kStandard, 6, 15}}}},
    {OfError::kGmfcBucketExists, "OFPGMFC_BUCKET_EXISTS", {{{k10, k10, kNicira, 6, 16}, {k15, k15, kStandard, 6, 16}}}},
    {OfError::kPmfcBadPort, "OFPPMFC_BAD_PORT", {{{k10, k10, kStandard, 4, 0}, {k11, k15, kStandard, 7, 0}}}},
    {OfError::kPmfcBadHwAddr, "OFPPMFC_BAD_HW_ADDR", {{{k10, k10, kStandard, 4, 1}, {k11, k15, kStandard, 7, 1}}}},
    {OfError::kPmfcBadConfig, "OFPPMFC_BAD_CONFIG", {{{k11, k15, kStandard, 7, 2}}}},
    {OfError::kPmfcBadAdvertise, "OFPPMFC_BAD_ADVERTISE", {{{k11, k15, kStandard, 7, 3}}}},
    {OfError::kPmfcEperm, "OFPPMFC_EPERM", {{{k12, k15, kStandard, 7, 4}}}},
    {OfError::kTmfcBadTable, "OFPTMFC_BAD_TABLE", {{{k11, k15, kStandard, 8, 0}}}},
    {OfError::kTmfcBadConfig, "OFPTMFC_BAD_CONFIG", {{{k11, k15, kStandard, 8, 1}}}},
    {OfError::kTmfcEperm, "OFPTMFC_EPERM", {{{k12, k15, kStandard, 8, 2}}}},
    {OfError::kQofcBadPort, "OFPQOFC_BAD_PORT", {{{k10, k10, kStandard, 5, 0}, {k11, k15, kStandard, 9, 0}}}},
    {OfError::kQofcBadQueue, "OFPQOFC_BAD_QUEUE", {{{k10, k10, kStandard, 5, 1}, {k11, k15, kStandard, 9, 1}}}},
    {OfError::kQofcEperm, "OFPQOFC_EPERM", {{{k10, k10, kStandard, 5, 2}, {k11, k15, kStandard, 9, 2}}}},
    {OfError::kScfcBadFlags, "OFPSCFC_BAD_FLAGS", {{{k11, k15, kStandard, 10, 0}}}},
    {OfError::kScfcBadLen, "OFPSCFC_BAD_LEN", {{{k11, k15, kStandard, 10, 1}}}},
    {OfError::kScfcEperm, "OFPSCFC_EPERM", {{{k12, k15, kStandard, 10, 2}}}},
    {OfError::kRrfcStale, "OFPRRFC_STALE", {{{k12, k15, kStandard, 11, 0}}}},
    {OfError::kRrfcUnsup, "OFPRRFC_UNSUP", {{{k12, k15, kStandard, 11, 1}}}},
    {OfError::kRrfcBadRole, "OFPRRFC_BAD_ROLE", {{{k10, k11, kNicira, 1, 513}, {k12, k15, kStandard, 11, 2}}}},
    {OfError::kMmfcUnknown, "OFPMMFC_UNKNOWN", {{{k13, k15, kStandard, 12, 0}}}},
    {OfError::kMmfcMeterExists, "OFPMMFC_METER_EXISTS", {{{k13, k15, kStandard, 12, 1}}}},
    {OfError::kMmfcInvalidMeter, "OFPMMFC_INVALID_METER", {{{k13, k15, kStandard, 12, 2}}}},
    {OfError::kMmfcUnknownMeter, "OFPMMFC_UNKNOWN_METER", {{{k13, k15, kStandard, 12, 3}}}},
    {OfError::kMmfcBadCommand, "OFPMMFC_BAD_COMMAND", {{{k13, k15, kStandard, 12, 4}}}},
    {OfError::kMmfcBadFlags, "OFPMMFC_BAD_FLAGS", {{{k13, k15, kStandard, 12, 5}}}},
    {OfError::kMmfcBadRate, "OFPMMFC_BAD_RATE", {{{k13, k15, kStandard, 12, 6}}}},
    {OfError::kMmfcBadBurst, "OFPMMFC_BAD_BURST", {{{k13, k15, kStandard, 12, 7}}}},
    {OfError::kMmfcBadBand, "OFPMMFC_BAD_BAND", {{{k13, k15, kStandard, 12, 8}}}},
    {OfError::kMmfcBadBandValue, "OFPMMFC_BAD_BAND_VALUE", {{{k13, k15, kStandard, 12, 9}}}},
    {OfError::kMmfcOutOfMeters, "OFPMMFC_OUT_OF_METERS", {{{k13, k15, kStandard, 12, 10}}}},
    {OfError::kMmfcOutOfBands, "OFPMMFC_OUT_OF_BANDS", {{{k13, k15, kStandard, 12, 11}}}},
    {OfError::kTffcBadTable, "OFPTFFC_BAD_TABLE", {{{k13, k15, kStandard, 13, 0}}}},
    {OfError::kTffcBadMetadata, "OFPTFFC_BAD_METADATA", {{{k13, k15, kStandard, 13, 1}}}},
    {OfError::kTffcBadType,
     "OFPBPC_BAD_TYPE",
     {{{k10, k11, kNicira, 13, 2},
       {k12, k12, kNicira, 0, 25},
       {k13, k13, kStandard, 13, 2},
       {k14, k15, kStandard, 14, 0}}}},
    {OfError::kTffcBadLen,
     "OFPBPC_BAD_LEN",
     {{{k10, k11, kNicira, 13, 3},
       {k12, k12, kNicira, 0, 26},
       {k13, k13, kStandard, 13, 3},
       {k14, k15, kStandard, 14, 1}}}},
    {OfError::kTffcBadArgument,
     "OFPBPC_BAD_VALUE",
     {{{k10, k11, kNicira, 13, 4},
       {k12, k12, kNicira, 0, 27},
       {k13, k13, kStandard, 13, 4},
       {k14, k15, kStandard, 14, 2}}}},
    {OfError::kTffcEperm, "OFPTFFC_EPERM", {{{k13, k15, kStandard, 13, 5}}}},
    {OfError::kTffcTooMany,
     "OFPBPC_TOO_MANY",
     {{{k10, k11, kNicira, 14, 3},
       {k12, k12, kNicira, 0, 28},
       {k13, k13, kOnf, 0, 4443},
       {k14, k15, kStandard, 14, 3}}}},
    {OfError::kBpcBadType,
     "OFPBPC_BAD_TYPE",
     {{{k10, k11, kNicira, 13, 2},
       {k12, k12, kNicira, 0, 25},
       {k13, k13, kStandard, 13, 2},
       {k14, k15, kStandard, 14, 0}}}},
    {OfError::kBpcBadLen,
     "OFPBPC_BAD_LEN",
     {{{k10, k11, kNicira, 13, 3},
       {k12, k12, kNicira, 0, 26},
       {k13, k13, kStandard, 13, 3},
       {k14, k15, kStandard, 14, 1}}}},
    {OfError::kBpcBadValue,
     "OFPBPC_BAD_VALUE",
     {{{k10, k11, kNicira, 13, 4},
       {k12, k12, kNicira, 0, 27},
       {k13, k13, kStandard, 13, 4},
       {k14, k15, kStandard, 14, 2}}}},
    {OfError::kBpcTooMany,
     "OFPBPC_TOO_MANY",
     {{{k10, k11, kNicira, 14, 3},
       {k12, k12, kNicira, 0, 28},
       {k13, k13, kOnf, 0, 4443},
       {k14, k15, kStandard, 14, 3}}}},
    {OfError::kBpcDupType,
     "OFPBPC_DUP_TYPE",
     {{{k10, k11, kNicira, 14, 4},
       {k12, k12, kNicira, 0, 29},
       {k13, k13, kOnf, 0, 4444},
       {k14, k15, kStandard, 14, 4}}}},
    {OfError::kBpcBadExperimenter,
     "OFPBPC_BAD_EXPERIMENTER",
     {{{k10, k11, kNicira, 14, 5},
       {k12, k12, kNicira, 0, 30},
       {k13, k13, kOnf, 0, 4445},
       {k14, k15, kStandard, 14, 5}}}},
    {OfError::kBpcBadExpType,
     "OFPBPC_BAD_EXP_TYPE",
     {{{k10, k11, kNicira, 14, 6},
       {k12, k12, kNicira, 0, 31},
       {k13, k13, kOnf, 0, 4446},
       {k14, k15, kStandard, 14, 6}}}},
    {OfError::kBpcBadExpValue,
     "OFPBPC_BAD_EXP_VALUE",
     {{{k10, k11, kNicira, 14, 7},
       {k12, k12, kNicira, 0, 32},
       {k13, k13, kOnf, 0, 4447},
       {k14, k15, kStandard, 14, 7}}}},
    {OfError::kBpcEperm,
     "OFPBPC_EPERM",
     {{{k10, k11, kNicira, 14, 8},
       {k12, k12, kNicira, 0, 33},
       {k13, k13, kOnf, 0, 4448},
       {k14, k15, kStandard, 14, 8}}}},
    {OfError::kBfcUnknown, "OFPBFC_UNKNOWN", {{{k13, k13, kOnf, 0, 2300}, {k14, k15, kStandard, 17, 0}}}},
    {OfError::kBfcEperm, "OFPBFC_EPERM", {{{k13, k13, kOnf, 0, 2301}, {k14, k15, kStandard, 17, 1}}}},
    {OfError::kBfcBadId, "OFPBFC_BAD_ID", {{{k13, k13, kOnf, 0, 2302}, {k14, k15, kStandard, 17, 2}}}},
    {OfError::kBfcBundleExist, "OFPBFC_BUNDLE_EXIST", {{{k13, k13, kOnf, 0, 2303}, {k14, k15, kStandard, 17, 3}}}},
    {OfError::kBfcBundleClosed, "OFPBFC_BUNDLE_CLOSED", {{{k13, k13, kOnf, 0, 2304}, {k14, k15, kStandard, 17, 4}}}},
    {OfError::kBfcOutOfBundles, "OFPBFC_OUT_OF_BUNDLES", {{{k13, k13, kOnf, 0, 2305}, {k14, k15, kStandard, 17, 5}}}},
    {OfError::kBfcBadType, "OFPBFC_BAD_TYPE", {{{k13, k13, kOnf, 0, 2306}, {k14, k15, kStandard, 17, 6}}}},
    {OfError::kBfcBadFlags, "OFPBFC_BAD_FLAGS", {{{k13, k13, kOnf, 0, 2307}, {k14, k15, kStandard, 17, 7}}}},
    {OfError::kBfcMsgBadLen, "OFPBFC_MSG_BAD_LEN", {{{k13, k13, kOnf, 0, 2308}, {k14, k15, kStandard, 17, 8}}}},
    {OfError::kBfcMsgBadXid, "OFPBFC_MSG_BAD_XID", {{{k13, k13, kOnf, 0, 2309}, {k14, k15, kStandard, 17, 9}}}},
    {OfError::kBfcMsgUnsup, "OFPBFC_MSG_UNSUP", {{{k13, k13, kOnf, 0, 2310}, {k14, k15, kStandard, 17, 10}}}},
    {OfError::kBfcMsgConflict, "OFPBFC_MSG_CONFLICT", {{{k13, k13, kOnf, 0, 2311}, {k14, k15, kStandard, 17, 11}}}},
    {OfError::kBfcMsgTooMany, "OFPBFC_MSG_TOO_MANY", {{{k13, k13, kOnf, 0, 2312}, {k14, k15, kStandard, 17, 12}}}},
    {OfError::kBfcMsgFailed, "OFPBFC_MSG_FAILED", {{{k13, k13, kOnf, 0, 2313}, {k14, k15, kStandard, 17, 13}}}},
    {OfError::kBfcTimeout, "OFPBFC_TIMEOUT", {{{k13, k13, kOnf, 0, 2314}, {k14, k15, kStandard, 17, 14}}}},
    {OfError::kBfcBundleInProgress,
     "OFPBFC_BUNDLE_IN_PROGRESS",
     {{{k13, k13, kOnf, 0, 2315}, {k14, k15, kStandard, 17, 15}}}},
    {OfError::kAcfcInvalid, "OFPACFC_INVALID", {{{k13, k13, kOnf, 0, 2370}, {k14, k15, kStandard, 15, 0}}}},
    {OfError::kAcfcUnsupported, "OFPACFC_UNSUPPORTED", {{{k13, k13, kOnf, 0, 2371}, {k14, k15, kStandard, 15, 1}}}},
    {OfError::kAcfcEperm, "OFPACFC_EPERM", {{{k13, k13, kOnf, 0, 2372}, {k14, k15, kStandard, 15, 2}}}},
    {OfError::kMofcUnknown, "OFPMOFC_UNKNOWN", {{{k14, k15, kStandard, 16, 0}}}},
    {OfError::kMofcMonitorExists,
     "OFPMOFC_MONITOR_EXISTS",
     {{{k10, k11, kNicira, 1, 517}, {k12, k13, kNicira, 0, 6}, {k14, k15, kStandard, 16, 1}}}},
    {OfError::kMofcInvalidMonitor, "OFPMOFC_INVALID_MONITOR", {{{k14, k15, kStandard, 16, 2}}}},
    {OfError::kMofcUnknownMonitor,
     "OFPMOFC_UNKNOWN_MONITOR",
     {{{k10, k11, kNicira, 1, 519}, {k12, k13, kNicira, 0, 8}, {k14, k15, kStandard, 16, 3}}}},
    {OfError::kMofcBadCommand, "OFPMOFC_BAD_COMMAND", {{{k14, k15, kStandard, 16, 4}}}},
    {OfError::kMofcBadFlags,
     "OFPMOFC_BAD_FLAGS",
     {{{k10, k11, kNicira, 1, 518}, {k12, k13, kNicira, 0, 7}, {k14, k15, kStandard, 16, 5}}}},
    {OfError::kMofcBadTableId, "OFPMOFC_BAD_TABLE_ID", {{{k14, k15, kStandard, 16, 6}}}},
    {OfError::kMofcBadOut, "OFPMOFC_BAD_OUT", {{{k14, k15, kStandard, 16, 7}}}},
    {OfError::kNxTtmfcBadCommand, "NXTTMFC_BAD_COMMAND", {{{k10, k11, kNicira, 1, 527}, {k12, k15, kNicira, 0, 16}}}},
    {OfError::kNxTtmfcBadOptLen, "NXTTMFC_BAD_OPT_LEN", {{{k10, k11, kNicira, 1, 528}, {k12, k15, kNicira, 0, 17}}}},
    {OfError::kNxTtmfcBadFieldIdx,
     "NXTTMFC_BAD_FIELD_IDX",
     {{{k10, k11, kNicira, 1, 529}, {k12, k15, kNicira, 0, 18}}}},
    {OfError::kNxTtmfcTableFull, "NXTTMFC_TABLE_FULL", {{{k10, k11, kNicira, 1, 530}, {k12, k15, kNicira, 0, 19}}}},
    {OfError::kNxTtmfcAlreadyMapped,
     "NXTTMFC_ALREADY_MAPPED",
     {{{k10, k11, kNicira, 1, 531}, {k12, k15, kNicira, 0, 20}}}},
    {OfError::kNxTtmfcDupEntry, "NXTTMFC_DUP_ENTRY", {{{k10, k11, kNicira, 1, 532}, {k12, k15, kNicira, 0, 21}}}},
    {OfError::kNxrNotSupported, "NXR_NOT_SUPPORTED", {{{k10, k11, kNicira, 1, 533}, {k12, k15, kNicira, 0, 34}}}},
    {OfError::kNxrStale, "NXR_STALE", {{{k10, k11, kNicira, 1, 534}, {k12, k15, kNicira, 0, 35}}}},
    {OfError::kNxQofcQueueError, "NXQOFC_QUEUE_ERROR", {{{k14, k15, kNicira, 0, 23}}}},
    {OfError::kNxStNotConfigured, "NXST_NOT_CONFIGURED", {{{k10, k11, kNicira, 1, 535}, {k12, k15, kNicira, 0, 36}}}},
    {OfError::kBfcBadVersion, "OFPBFC_BAD_VERSION", {{{k14, k15, kNicira, 0, 22}}}},
    {OfError::kFmfcBadEmergTimeout, "OFPFMFC_BAD_EMERG_TIMEOUT", {{{k10, k10, kStandard, 3, 3}}}},
    {OfError::kFmfcUnsupported, "OFPFMFC_UNSUPPORTED", {{{k10, k10, kStandard, 3, 5}}}},
};

static_assert(std::size(kErrors) == static_cast<size_t>(OfError::kFmfcUnsupported) + 1);

constexpr bool InOrder() {
  size_t at = 0;
  for (const ErrorRow& row : kErrors) {
    if (static_cast<size_t>(row.error) != at++) return false;
  }
  return true;
}
static_assert(InOrder());

const ErrorRow& RowOf(OfError error) { return kErrors[static_cast<size_t>(error)]; }

}  // namespace

OfErrorCode ErrorCode(OfError error, OfVersion version) {
  const ErrorRow& row = RowOf(error);
  for (const ErrorForm& form : row.forms) {
    if (form.Covers(version)) return form.Code(version);
  }
  // The version has no such error.
  return ErrorCode(OfError::kNxBrcUnencodableError, version);
}

std::optional<OfError> FindError(OfErrorCode code, OfVersion version) {
  for (const ErrorRow& row : kErrors) {
    for (const ErrorForm& form : row.forms) {
      if (!form.Covers(version)) continue;
      OfErrorCode own = form.Code(version);
      if (own.experimenter == code.experimenter && own.type == code.type && own.code == code.code) return row.error;
    }
  }
  return std::nullopt;
}

std::string ErrorName(OfError error) { return RowOf(error).name; }

}  // namespace sluice
