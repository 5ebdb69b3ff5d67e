// Matches of tests: from text, and random ones that satisfy their prerequisites.
#pragma once

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "lib/openflow/match.h"

namespace sluice {

// "ip,nw_src=10.0.0.0/8": fails the test if it does not parse.
OfMatch MatchOf(std::string_view text);
// The error of an item or of the prerequisites; "" if there is none.
std::string ErrorOf(std::string_view text);
std::string TextOf(const OfMatch& match);

// What random matches may hold.
struct RandomMatchOptions {
  bool packet_type = false;  // packets without Ethernet header as well
  bool nsh = true;
};
OfMatch RandomMatch(std::mt19937_64& random, const RandomMatchOptions& options);

// OPENFLOW_SEED, or always the same number, so that a build fails for its own reasons only; printed.
uint64_t RandomSeed();

// What `ovs-ofctl ARGUMENTS` prints, standard error left out, with `input` as its standard input.
std::vector<std::string> OvsOfctl(const std::string& arguments, const std::string& input);

}  // namespace sluice
