#include "lib/openflow/error.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/lib/openflow/match/match_text.h"

namespace sluice {
namespace {

constexpr OfVersion kVersions[] = {OfVersion::k10, OfVersion::k11, OfVersion::k12,
                                   OfVersion::k13, OfVersion::k14, OfVersion::k15};
constexpr auto kLast = OfError::kFmfcUnsupported;

std::vector<OfError> AllErrors() {
  std::vector<OfError> errors;
  for (size_t i = 0; i <= static_cast<size_t>(kLast); ++i) errors.push_back(static_cast<OfError>(i));
  return errors;
}

TEST(ErrorTest, EveryErrorIsFoundByItsCode) {
  for (OfVersion version : kVersions) {
    for (OfError error : AllErrors()) {
      OfErrorCode code = ErrorCode(error, version);
      std::optional<OfError> found = FindError(code, version);
      ASSERT_TRUE(found) << ErrorName(error);
      // Where a version has one code for several errors, the first of them is found.
      OfErrorCode again = ErrorCode(*found, version);
      EXPECT_TRUE(again.experimenter == code.experimenter && again.type == code.type && again.code == code.code)
          << ErrorName(error) << " became " << ErrorName(*found);
    }
  }
}

TEST(ErrorTest, UnknownCodesAreNotFound) {
  EXPECT_EQ(FindError({0, 99, 0}, OfVersion::k13), std::nullopt);
  EXPECT_EQ(FindError({0, 4, 200}, OfVersion::k13), std::nullopt);
  EXPECT_EQ(FindError({0x12345, 0xffff, 2}, OfVersion::k13), std::nullopt);
  EXPECT_EQ(FindError({0, 17, 0}, OfVersion::k13), std::nullopt);  // bundles came with 1.4
}

TEST(ErrorTest, WhatAVersionCannotSayIsUnencodable) {
  OfErrorCode code = ErrorCode(OfError::kMmfcUnknown, OfVersion::k10);
  EXPECT_EQ(code.experimenter, 0x2320u);
  EXPECT_EQ(code.type, 1);
  EXPECT_EQ(code.code, 521);
}

// "OpenFlow 1.3: vendor 0x2320, type 22, code 0", as print-error has it: of later Nicira errors and ONF's the number
// is in the type.
std::string CodeText(OfError error, OfVersion version) {
  OfErrorCode code = ErrorCode(error, version);
  bool extension = code.type == 0xffff;
  return fmt::format("OpenFlow 1.{}: vendor {}{:x}, type {}, code {}", static_cast<int>(version) - 1,
                     code.experimenter == 0 ? "" : "0x", code.experimenter, extension ? code.code : code.type,
                     extension ? 0 : code.code);
}

TEST(ErrorTest, OvsOfctlHasTheSameCodes) {
  // Names that came after Open vSwitch's, or that are ours.
  auto unknown_there = [](std::string_view name) {
    for (std::string_view later :
         {"OFPBRC_MULTIPART_REQUEST_TIMEOUT", "OFPBRC_MULTIPART_REPLY_TIMEOUT", "OFPBRC_MULTIPART_BAD_SCHED",
          "OFPBRC_PIPELINE_FIELDS_ONLY", "OFPBRC_UNKNOWN", "OFPBAC_BAD_METER", "OFPFMFC_CANT_SYNC",
          "OFPFMFC_BAD_PRIORITY", "OFPFMFC_IS_SYNC"}) {
      if (name == later) return true;
    }
    return false;
  };
  size_t compared = 0;
  for (OfError error : AllErrors()) {
    std::string name = ErrorName(error);
    if (unknown_there(name) || error == OfError::kNxBrcBadMatchLen) continue;
    for (const std::string& line : OvsOfctl("print-error " + name, "")) {
      ASSERT_TRUE(line.starts_with("OpenFlow 1.")) << line;
      EXPECT_EQ(CodeText(error, static_cast<OfVersion>(line[11] - '0' + 1)), line) << name;
      ++compared;
    }
  }
  EXPECT_GT(compared, 500u);
}

}  // namespace
}  // namespace sluice
