// Messages of every kind, with something in all of their parts.
#pragma once

#include <string>
#include <vector>

#include "lib/openflow/message.h"

namespace sluice {

struct Sample {
  std::string name;
  OfBody body;
  OfCodecState state;
  bool nxm = false;
};
std::vector<Sample> Samples();

// The message in a version; "" if the version cannot say it.
std::string Encode(const Sample& sample, OfVersion version);

constexpr OfVersion kVersions[] = {OfVersion::k10, OfVersion::k11, OfVersion::k12,
                                   OfVersion::k13, OfVersion::k14, OfVersion::k15};

}  // namespace sluice
