// Entry lists and standard matches as bytes: what is refused, with which error, and that every length is looked at.
#include <gtest/gtest.h>

#include "tests/lib/openflow/match/match_text.h"

namespace sluice {
namespace {

std::string FromHex(std::string_view text) {
  std::string bytes;
  std::string digits;
  for (char c : text) {
    if (c == ' ') continue;
    digits += c;
    if (digits.size() < 2) continue;
    bytes += static_cast<char>(std::stoi(digits, nullptr, 16));
    digits.clear();
  }
  return bytes;
}

// The text of the match, or the name of the error.
std::string Decoded(const OfResult<OfMatch>& match) {
  return match.ok() ? TextOf(*match) : ErrorName(match.failure().error);
}
std::string Entries(std::string_view hex, bool loose = false) {
  return Decoded(DecodeEntries(AsBytes(FromHex(hex)), loose, nullptr));
}
std::string Match(std::string_view hex, OfVersion version) {
  std::string bytes = FromHex(hex);
  WireReader in(AsBytes(bytes));
  return Decoded(version == OfVersion::k10 ? DecodeMatch10(in) : DecodeMatch(in, version));
}

TEST(EntriesTest, AreRefusedWithTheErrorOfTheSpecification) {
  struct Row {
    std::string_view hex, result;
  };
  constexpr Row kRows[] = {
      {"", ""},
      {"00000602 0800 00000e04 01020304", "ip,nw_src=1.2.3.4"},
      {"00000e04 01020304 00000602 0800", "OFPBMC_BAD_PREREQ"},
      {"00010004 00000001 00010004 00000001", "OFPBMC_DUP_FIELD"},
      {"80010008 0000000100000002 00010204 00000001", "OFPBMC_DUP_FIELD"},
      {"00010108 00000001 00000002", "OFPBMC_BAD_WILDCARDS"},
      {"00010108 00000001 ffffffff", "reg0=0x1"},
      {"00010108 00000000 00000000", ""},
      {"00000104 0001 fffe", "OFPBMC_BAD_WILDCARDS"},
      {"00000104 0001 0fff", "OFPBMC_BAD_MASK"},
      {"00000104 0001 ffff", "in_port=1"},
      {"80000c02 1005 80000e01 01", "dl_vlan=5,dl_vlan_pcp=1"},
      {"80000c02 0005 80000e01 01", "OFPBMC_BAD_PREREQ"},
      {"80000e01 01", "OFPBMC_BAD_PREREQ"},
      {"80000c02 2005", "OFPBMC_BAD_VALUE"},
      {"80000d04 1005 ffff", "dl_vlan=5"},
      {"80000d04 0005 0fff", "vlan_tci=0x0005/0x0fff"},
      {"00000602 0800 80001001 40", "OFPBMC_BAD_VALUE"},
      {"00000602 0800 00000a01 01", "OFPBMC_BAD_VALUE"},
      {"00000602 0800 00013401 04", "OFPBMC_BAD_VALUE"},
      {"00000602 0806 00001e02 0100", "OFPBMC_BAD_VALUE"},
      {"00000602 0800 00000c01 06 00014402 f001", "OFPBMC_BAD_VALUE"},
      {"00000602 0800 00000c01 06 00014504 0001 f001", "tcp,tcp_flags=+fin"},
      {"00000602 0800 00000c01 06 ffff5406 4f4e4600 0001", "tcp,tcp_flags=fin"},
      {"ffff5608 4f4e4600 00000001", "actset_output=1"},
      {"80005604 fffffffe", "actset_output=LOCAL"},
      {"80000004 0000ff05", "OFPBMC_BAD_VALUE"},
      {"80000004 fffffffe", "in_port=LOCAL"},
      {"00000602 894f ffff0205 005ad650 01", "dl_type=0x894f,nsh_flags=1"},
      {"00000602 894f ffff0306 005ad650 01 01", "dl_type=0x894f,nsh_flags=0x01/0x01"},
      {"00000602 894f ffff1405 005ad650 40", "OFPBMC_BAD_VALUE"},
      {"80005804 00010800 80001604 01020304", "packet_type=(1,0x800),nw_src=1.2.3.4"},
      {"80005804 00010800 80000806 010101010101", "OFPBMC_BAD_PREREQ"},
      // Not known, or not of this length.
      {"80000a03 080000", "OFPBMC_BAD_FIELD"},
      {"00010007 00000001000002", "OFPBMC_BAD_FIELD"},
      {"00010109 000000010000000211", "OFPBMC_BAD_FIELD"},
      {"00013c08 0000000000000005", "OFPBMC_BAD_FIELD"},
      {"8000fe01 00", "OFPBMC_BAD_FIELD"},
      {"ffff0205 00000000 01", "OFPBMC_BAD_FIELD"},
      {"ffff0205 12345678 01", "OFPBMC_BAD_FIELD"},
      // Lengths that do not fit.
      {"000100", "OFPBMC_BAD_LEN"},
      {"00010004 000001", "OFPBMC_BAD_LEN"},
      {"00010108 00000001 ffffff", "OFPBMC_BAD_LEN"},
      {"ffff0203 000000", "OFPBMC_BAD_LEN"},
      {"ffff0205 005ad6", "OFPBMC_BAD_LEN"},
  };
  for (const Row& row : kRows) EXPECT_EQ(Entries(row.hex), row.result) << row.hex;
}

TEST(EntriesTest, LooseDecodingPassesOverWhatIsNotKnown) {
  EXPECT_EQ(Entries("8000fe01 00 00010004 00000001", true), "reg0=0x1");
  EXPECT_EQ(Entries("ffff0208 12345678 00000000 00010004 00000001", true), "reg0=0x1");
  EXPECT_EQ(Entries("00012008 0000000000000005 00010004 00000001", true), "reg0=0x1");
  EXPECT_EQ(Entries("8000fe09 00", true), "OFPBMC_BAD_LEN");
  EXPECT_EQ(Entries("00010004 00000001 00010004 00000001", true), "OFPBMC_DUP_FIELD");
}

TEST(EntriesTest, CookiesAreTakenWhereTheyAreAskedFor) {
  CookieMatch cookie;
  std::string bytes = FromHex("00013d10 0000000000000005 0000000000000007 00010004 00000001");
  EXPECT_EQ(Decoded(DecodeEntries(AsBytes(bytes), false, &cookie)), "reg0=0x1");
  EXPECT_EQ(cookie.cookie, 5u);
  EXPECT_EQ(cookie.mask, 7u);
  bytes = FromHex("00013c08 0000000000000005");
  EXPECT_EQ(Decoded(DecodeEntries(AsBytes(bytes), false, &cookie)), "");
  EXPECT_EQ(cookie.mask, UINT64_MAX);
  EXPECT_EQ(Decoded(DecodeEntries(AsBytes(bytes + bytes), false, &cookie)), "OFPBMC_DUP_FIELD");
  bytes = FromHex("00013d10 0000000000000008 0000000000000007");
  EXPECT_EQ(Decoded(DecodeEntries(AsBytes(bytes), false, &cookie)), "OFPBMC_BAD_WILDCARDS");
  bytes = FromHex("00013d10 0000000000000005 00000000000000");
  EXPECT_EQ(Decoded(DecodeEntries(AsBytes(bytes), false, &cookie)), "OFPBMC_BAD_LEN");
}

// Cut anywhere, a list is refused for its length or is a shorter list.
TEST(EntriesTest, EveryCutIsNoticed) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 200; ++i) {
    OfMatch match = RandomMatch(random, {.packet_type = true});
    WireWriter out;
    EncodeEntries(match, MatchForm::kNxm, OfVersion::k10, out);
    for (size_t size = 0; size < out.size(); ++size) {
      OfResult<OfMatch> cut = DecodeEntries(AsBytes(out.bytes()).subspan(0, size), false, nullptr);
      if (!cut.ok()) {
        EXPECT_EQ(cut.failure().error, OfError::kBmcBadLen) << TextOf(match) << " at " << size;
      } else {
        WireWriter again;
        EncodeEntries(*cut, MatchForm::kNxm, OfVersion::k10, again);
        EXPECT_EQ(again.bytes(), out.bytes().substr(0, size)) << TextOf(match);
      }
    }
  }
}

TEST(FieldEntryTest, EveryFieldComesBackInEveryVersion) {
  std::mt19937_64 random(5);
  for (const FieldInfo& field : AllFields()) {
    if (field.nxm_name.empty() && field.oxm_name.empty()) continue;
    for (OfVersion version :
         {OfVersion::k10, OfVersion::k11, OfVersion::k12, OfVersion::k13, OfVersion::k14, OfVersion::k15}) {
      WireWriter header;
      EncodeFieldHeader(field, version, header);
      WireReader header_in(AsBytes(header.bytes()));
      OfResult<const FieldInfo*> found = DecodeFieldHeader(header_in);
      ASSERT_TRUE(found.ok()) << field.name;
      EXPECT_EQ(*found, &field);
      FieldValue mask = ExactMask(field);
      FieldValue value;
      value.bytes[field.n_bytes - 1] = field.id == FieldId::kIpDscp ? 4 : 1;
      for (bool masked : {false, true}) {
        if (masked && field.mask == FieldInfo::Mask::kNone) continue;
        if (masked) mask = value;
        WireWriter out;
        EncodeFieldEntry(field, value, masked ? &mask : nullptr, version, out);
        WireReader in(AsBytes(out.bytes()));
        OfResult<FieldEntry> entry = DecodeFieldEntry(in);
        ASSERT_TRUE(entry.ok()) << field.name << ": " << entry.failure().message;
        EXPECT_TRUE(in.AtEnd());
        EXPECT_EQ(entry->field, &field);
        EXPECT_EQ(entry->value, value) << field.name;
        EXPECT_EQ(entry->mask, masked ? mask : ExactMask(field)) << field.name;
        // A value of one bit under a mask of one bit; a field of one bit is exact with it.
        EXPECT_EQ(entry->masked, masked && mask != ExactMask(field)) << field.name;
        for (size_t size = 0; size < out.size(); ++size) {
          WireReader cut(AsBytes(out.bytes()).subspan(0, size));
          EXPECT_FALSE(DecodeFieldEntry(cut).ok()) << field.name << " at " << size;
        }
      }
    }
  }
}

TEST(OxmMatchTest, LengthsAreCheckedAndPaddingIsRead) {
  EXPECT_EQ(Match("0001 0004 00000000", OfVersion::k13), "");
  EXPECT_EQ(Match("0001 000a 80000a02 0800 000000000000", OfVersion::k13), "ip");
  EXPECT_EQ(Match("0001 0003 00000000", OfVersion::k13), "OFPBMC_BAD_LEN");
  EXPECT_EQ(Match("0001 000a 80000a02 0800 0000000000", OfVersion::k13), "OFPBMC_BAD_LEN");
  EXPECT_EQ(Match("0001 ffff 80000a02 0800 000000000000", OfVersion::k13), "OFPBMC_BAD_LEN");
  EXPECT_EQ(Match("0001 0009 80000a02 0800 000000000000", OfVersion::k13), "OFPBMC_BAD_LEN");
  EXPECT_EQ(Match("0001 00", OfVersion::k13), "OFPBMC_BAD_LEN");
  EXPECT_EQ(Match("0002 0004 00000000", OfVersion::k13), "OFPBMC_BAD_TYPE");
  EXPECT_EQ(Match("0000 0058 00000000", OfVersion::k13), "OFPBMC_BAD_TYPE");
  EXPECT_EQ(Match("0000 0057 00000000", OfVersion::k11), "OFPBMC_BAD_LEN");
  EXPECT_EQ(Match("0000 0058 00000000", OfVersion::k11), "OFPBMC_BAD_LEN");
}

TEST(OxmMatchTest, EveryMatchComesBackPaddedInEveryVersion) {
  std::mt19937_64 random(6);
  for (int i = 0; i < 500; ++i) {
    OfMatch match = RandomMatch(random, {.packet_type = true});
    match.mask.packet.vlan_tci = match.value.packet.vlan_tci = Be16();
    for (OfVersion version : {OfVersion::k11, OfVersion::k12, OfVersion::k13, OfVersion::k14, OfVersion::k15}) {
      WireWriter out;
      out.U16(0);  // alignment counts from the match's start
      EncodeMatch(match, version, out);
      EXPECT_EQ(out.size() % 8, 2u);
      WireReader in(AsBytes(out.bytes()).subspan(2));
      OfResult<OfMatch> decoded = DecodeMatch(in, version);
      ASSERT_TRUE(decoded.ok()) << TextOf(match) << ": " << decoded.failure().message;
      EXPECT_TRUE(*decoded == match) << TextOf(match) << " became " << TextOf(*decoded);
      EXPECT_TRUE(in.AtEnd());
    }
  }
}

TEST(Match10Test, VlansHaveTheirQuirks) {
  auto vlan = [](std::string_view wildcards, std::string_view vid, std::string_view pcp) {
    return Match(std::string(wildcards) + "0000 000000000000 000000000000" + std::string(vid) + std::string(pcp) +
                     "00 0000 00 00 0000 00000000 00000000 0000 0000",
                 OfVersion::k10);
  };
  EXPECT_EQ(vlan("003820ff", "0000", "00"), "");
  EXPECT_EQ(vlan("003820fd", "ffff", "00"), "vlan_tci=0x0000");
  EXPECT_EQ(vlan("002820fd", "ffff", "03"), "vlan_tci=0x0000");
  EXPECT_EQ(vlan("002820ff", "0005", "03"), "dl_vlan_pcp=3");
  EXPECT_EQ(vlan("003820fd", "1005", "03"), "dl_vlan=5");
  EXPECT_EQ(vlan("002820fd", "0005", "0b"), "dl_vlan=5,dl_vlan_pcp=3");
}

TEST(Match10Test, FieldsThatThePacketDoesNotHaveAreIgnored) {
  // Everything counts, of an IPv6 packet, of which 1.0 knows no addresses.
  EXPECT_EQ(Match("00000000 0001 010101010101 020202020202 ffff 00 00 88cc 04 06 0000 01020304 05060708 0005 0006",
                  OfVersion::k10),
            "in_port=1,vlan_tci=0x0000,dl_src=01:01:01:01:01:01,dl_dst=02:02:02:02:02:02,dl_type=0x88cc");
  EXPECT_EQ(Match("00000000 0001 010101010101 020202020202 ffff 00 00 0806 04 06 0000 01020304 05060708 0005 0006",
                  OfVersion::k10),
            "arp,in_port=1,vlan_tci=0x0000,dl_src=01:01:01:01:01:01,dl_dst=02:02:02:02:02:02,arp_spa=1.2.3.4,"
            "arp_tpa=5.6.7.8,arp_op=6");
  EXPECT_EQ(Match("0010380e 0001", OfVersion::k10), "OFPBRC_BAD_LEN");
}

TEST(Match10Test, SaysWhatItCannotExpress) {
  for (const char* text : {"reg0=1", "ipv6,ipv6_src=1::1", "dl_src=1:1:1:1:1:1/ff:ff:ff:00:00:00", "ip,nw_ttl=5",
                           "ip,nw_src=1.0.0.4/255.0.0.255", "tcp,tp_src=0x10/0xf0", "metadata=1", "vlan_tci=1/1",
                           "vlan_tci=0x1000/0x1000", "ip,nw_ecn=1", "sctp,tp_dst=5", "tcp6", "arp,arp_sha=1:1:1:1:1:1",
                           "mpls,mpls_label=5", "pkt_mark=1", "actset_output=1", "packet_type=(1,0x800)"}) {
    WireWriter out;
    EXPECT_FALSE(FitsStandardMatch(MatchOf(text), OfVersion::k10)) << text;
    EXPECT_FALSE(EncodeMatch10(MatchOf(text), out)) << text;
    EXPECT_EQ(out.size(), 40u);
  }
  for (const char* text : {"metadata=1/1", "mpls,mpls_label=5,mpls_tc=1", "ip,nw_src=1.0.0.4/255.0.0.255",
                           "vlan_tci=0x1000/0x1000", "sctp,tp_dst=5", "dl_src=1:1:1:1:1:1/ff:ff:ff:00:00:00"}) {
    EXPECT_TRUE(FitsStandardMatch(MatchOf(text), OfVersion::k11)) << text;
  }
  for (const char* text : {"reg0=1", "ip,nw_ttl=5", "tcp,tp_src=0x10/0xf0", "ip,nw_ecn=1", "ipv6,ipv6_src=1::1",
                           "mpls,mpls_ttl=4", "vlan_tci=1/1"}) {
    EXPECT_FALSE(FitsStandardMatch(MatchOf(text), OfVersion::k11)) << text;
  }
}

// Type and length, in_port and wildcards, Ethernet addresses with masks, VLAN, type, ToS, protocol, ...
std::string Match11(std::string_view in_port, std::string_view wildcards, std::string_view vlan,
                    std::string_view rest) {
  constexpr std::string_view kNoMac = "000000000000 ffffffffffff";
  return Match("0000 0058" + std::string(in_port) + std::string(wildcards) + std::string(kNoMac) + std::string(kNoMac) +
                   std::string(vlan) + "00" + std::string(rest),
               OfVersion::k11);
}

TEST(Match11Test, ValuesAreCheckedAsTheSpecificationSays) {
  const std::string addresses = "00000000 ffffffff 00000000 ffffffff";
  const std::string end = "00000000 00 000000 0000000000000000 ffffffffffffffff";
  const std::string nothing = "0000 00 00" + addresses + "0000 0000" + end;
  EXPECT_EQ(Match11("00000000", "000003ff", "0000 00", nothing), "");
  EXPECT_EQ(Match11("fffffffe", "000003fe", "0000 00", nothing), "in_port=LOCAL");
  EXPECT_EQ(Match11("0000ff10", "000003fe", "0000 00", nothing), "OFPBMC_BAD_VALUE");
  EXPECT_EQ(Match11("00000000", "000003fd", "fffe 00", nothing), "vlan_tci=0x1000/0x1000");
  EXPECT_EQ(Match11("00000000", "000003f9", "fffe 03", nothing), "dl_vlan_pcp=3");
  EXPECT_EQ(Match11("00000000", "000003f9", "ffff 03", nothing), "vlan_tci=0x0000");
  EXPECT_EQ(Match11("00000000", "000003fd", "1005 00", nothing), "OFPBMC_BAD_VALUE");
  EXPECT_EQ(Match11("00000000", "000003e7", "0000 00", "0800 05 00" + addresses + "0000 0000" + end),
            "OFPBMC_BAD_VALUE");
  EXPECT_EQ(Match11("00000000", "00000397", "0000 00", "0800 00 63" + addresses + "0005 0000" + end),
            "OFPBMC_BAD_FIELD");
  EXPECT_EQ(Match11("00000000", "00000397", "0000 00", "0800 00 01" + addresses + "0105 0000" + end),
            "OFPBMC_BAD_FIELD");
  EXPECT_EQ(Match11("00000000", "00000397", "0000 00", "0800 00 84" + addresses + "0005 0000" + end), "sctp,tp_src=5");
  EXPECT_EQ(Match11("00000000", "000000f7", "0000 00",
                    "8847 00 00" + addresses + "0000 0000 00000005 03 000000 0000000000000001 fffffffffffffffe"),
            "mpls,metadata=0x1/0x1,mpls_label=5,mpls_tc=3");
}

}  // namespace
}  // namespace sluice
