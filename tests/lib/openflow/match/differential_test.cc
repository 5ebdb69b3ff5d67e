// Random matches: our text and bytes read by Debian's ovs-ofctl, and what it makes of them read by us.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/lib/openflow/match/match_text.h"

namespace sluice {
namespace {

constexpr size_t kMatches = 1500;

std::string Hex(std::string_view bytes) {
  std::string text;
  for (char byte : bytes) text += fmt::format("{:02x}", static_cast<uint8_t>(byte));
  return text;
}

// A list of entries as ovs-ofctl writes it: "NXM_OF_ETH_TYPE(0800), NXM_OF_IP_SRC_W(0a000000/ff000000)".
std::string EntriesText(std::string_view bytes) {
  WireReader in(AsBytes(bytes));
  std::string text;
  while (!in.AtEnd()) {
    std::string_view rest = bytes.substr(in.position());
    uint32_t header = WireReader(AsBytes(rest)).U32();
    OfResult<FieldEntry> entry = DecodeFieldEntry(in);
    if (!entry.ok()) return entry.failure().message;
    const FieldInfo& field = *entry->field;
    std::string_view name = field.nxm_name;
    if (field.oxm_header != 0 && (header & 0xfffffe00) == (field.oxm_header & 0xfffffe00)) name = field.oxm_name;
    if (header >> 16 == 0xffff && field.id == FieldId::kTcpFlags) name = "ONFOXM_ET_TCP_FLAGS";
    if (header >> 16 == 0xffff && field.id == FieldId::kActsetOutput) name = "ONFOXM_ET_ACTSET_OUTPUT";
    auto hex = [&field](const FieldValue& value) {
      return Hex(std::string_view(reinterpret_cast<const char*>(value.bytes.data()), field.n_bytes));
    };
    if (!text.empty()) text += ", ";
    text += fmt::format("{}{}({}{}{})", name, entry->masked ? "_W" : "", hex(entry->value), entry->masked ? "/" : "",
                        entry->masked ? hex(entry->mask) : "");
  }
  return text;
}

std::vector<OfMatch> RandomMatches(std::mt19937_64& random, const RandomMatchOptions& options) {
  std::vector<OfMatch> matches;
  while (matches.size() < kMatches) {
    OfMatch match = RandomMatch(random, options);
    if (!match.IsCatchAll()) matches.push_back(match);
  }
  return matches;
}

TEST(MatchDifferentialTest, OvsOfctlReadsAndPrintsTheSameText) {
  std::mt19937_64 random(RandomSeed());
  std::vector<OfMatch> matches = RandomMatches(random, {.packet_type = true});
  std::string input;
  for (const OfMatch& match : matches) input += FormatMatch(match, 7, {}) + " actions=drop\n";
  std::vector<std::string> lines = OvsOfctl("-F NXM parse-flows /dev/stdin", input);
  std::vector<std::string> printed;
  for (const std::string& line : lines) {
    size_t add = line.find("ADD "), actions = line.find(" actions=drop");
    if (add != std::string::npos) printed.push_back(line.substr(add + 4, actions - add - 4));
    EXPECT_EQ(line.find("decode error"), std::string::npos) << line;
  }
  ASSERT_EQ(printed.size(), matches.size());
  for (size_t i = 0; i < matches.size(); ++i) {
    std::string text = FormatMatch(matches[i], 7, {});
    EXPECT_EQ(printed[i], text);
    EXPECT_TRUE(MatchOf(TextOf(matches[i])) == matches[i]) << text;
    EXPECT_FALSE(CheckMatch(matches[i])) << text << ": " << CheckMatch(matches[i])->message;
  }
}

// OXM has no masks of the priority, and "no tag" does not speak of it.
void MakeVlanSayableInOxm(OfMatch& match) {
  uint16_t mask = match.mask.packet.vlan_tci.Get(), tci = match.value.packet.vlan_tci.Get();
  if ((mask & 0xe000) != 0xe000 || (tci & kVlanPresent) == 0) mask &= 0x1fff;
  match.mask.packet.vlan_tci = Be16(mask);
  match.value.packet.vlan_tci = Be16(tci & mask);
}

void CompareEntries(MatchForm form, OfVersion version, const std::string& command) {
  std::mt19937_64 random(RandomSeed());
  std::vector<OfMatch> matches = RandomMatches(random, {.packet_type = true});
  std::string input;
  std::vector<std::string> ours;
  for (OfMatch& match : matches) {
    if (form == MatchForm::kOxm) MakeVlanSayableInOxm(match);
    WireWriter out;
    EncodeEntries(match, form, version, out);
    OfResult<OfMatch> decoded = DecodeEntries(AsBytes(out.bytes()), false, nullptr);
    ASSERT_TRUE(decoded.ok()) << TextOf(match) << ": " << decoded.failure().message;
    EXPECT_TRUE(*decoded == match) << TextOf(match) << " became " << TextOf(*decoded);
    ours.push_back(EntriesText(out.bytes()));
    input += ours.back() + "\n";
  }
  std::vector<std::string> theirs = OvsOfctl("--strict " + command, input);
  ASSERT_EQ(theirs.size(), ours.size());
  for (size_t i = 0; i < ours.size(); ++i) EXPECT_EQ(theirs[i], ours[i]) << TextOf(matches[i]);
}

TEST(MatchDifferentialTest, OvsOfctlReadsAndWritesTheSameNxm) {
  CompareEntries(MatchForm::kNxm, OfVersion::k10, "parse-nxm");
}
TEST(MatchDifferentialTest, OvsOfctlReadsAndWritesTheSameOxmOf12) {
  CompareEntries(MatchForm::kOxm, OfVersion::k12, "parse-oxm OpenFlow12");
}
TEST(MatchDifferentialTest, OvsOfctlReadsAndWritesTheSameOxmOf13) {
  CompareEntries(MatchForm::kOxm, OfVersion::k13, "parse-oxm OpenFlow13");
}
TEST(MatchDifferentialTest, OvsOfctlReadsAndWritesTheSameOxmOf14) {
  CompareEntries(MatchForm::kOxm, OfVersion::k14, "parse-oxm OpenFlow14");
}
TEST(MatchDifferentialTest, OvsOfctlReadsAndWritesTheSameOxmOf15) {
  CompareEntries(MatchForm::kOxm, OfVersion::k15, "parse-oxm OpenFlow15");
}

// The first line of each paragraph is the match; then come the bytes that it would write differently.
struct StandardReply {
  std::string match;
  std::string differences;
};
std::vector<StandardReply> StandardReplies(const std::string& command, const std::string& input) {
  std::vector<StandardReply> replies(1);
  bool first = true;
  for (const std::string& line : OvsOfctl(command, input)) {
    if (line.empty() && !first) {
      replies.emplace_back();
      first = true;
      continue;
    }
    (first ? replies.back().match : replies.back().differences) += line;
    first = false;
  }
  replies.pop_back();
  return replies;
}

void CompareStandard(OfVersion version, const std::string& command) {
  std::mt19937_64 random(RandomSeed());
  std::string input;
  std::vector<OfMatch> matches;
  for (const OfMatch& match : RandomMatches(random, {.nsh = false})) {
    if (!FitsStandardMatch(match, version)) continue;
    matches.push_back(match);
    WireWriter out;
    version == OfVersion::k10 ? void(EncodeMatch10(match, out)) : EncodeMatch(match, version, out);
    input += Hex(out.bytes()) + "\n";
    WireReader in(AsBytes(out.bytes()));
    OfResult<OfMatch> decoded = version == OfVersion::k10 ? DecodeMatch10(in) : DecodeMatch(in, version);
    ASSERT_TRUE(decoded.ok()) << TextOf(match) << ": " << decoded.failure().message;
    EXPECT_TRUE(*decoded == match) << TextOf(match) << " became " << TextOf(*decoded);
    EXPECT_TRUE(in.AtEnd());
  }
  ASSERT_GT(matches.size(), kMatches / 40);
  std::vector<StandardReply> replies = StandardReplies(command, input);
  ASSERT_EQ(replies.size(), matches.size());
  for (size_t i = 0; i < matches.size(); ++i) {
    EXPECT_EQ(replies[i].match, TextOf(matches[i]));
    EXPECT_EQ(replies[i].differences, "") << TextOf(matches[i]);
  }
}

TEST(MatchDifferentialTest, OvsOfctlReadsTheSame10Match) { CompareStandard(OfVersion::k10, "parse-ofp10-match"); }
TEST(MatchDifferentialTest, OvsOfctlReadsTheSame11Match) { CompareStandard(OfVersion::k11, "parse-ofp11-match"); }

}  // namespace
}  // namespace sluice
