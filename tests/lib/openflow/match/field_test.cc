#include "lib/openflow/field.h"

#include <gtest/gtest.h>

#include "lib/base/status.h"
#include "lib/openflow/match.h"
#include "tests/lib/openflow/match/match_text.h"

namespace sluice {
namespace {

using F = FieldId;

FieldValue RandomValue(std::mt19937_64& random, const FieldInfo& field) {
  FieldValue value, exact = ExactMask(field);
  for (size_t i = 0; i < field.n_bytes; ++i) value.bytes[i] = exact.bytes[i] & static_cast<uint8_t>(random());
  if (field.text == FieldInfo::Text::kOfPort) value = FieldFromU64(field, random() % 0xff00);
  if (field.id == F::kNshTtl) value.bytes[0] &= 63;
  return value;
}

TEST(FieldTest, ValuesComeBackAndTouchNothingElse) {
  std::mt19937_64 random(1);
  for (const FieldInfo& field : AllFields()) {
    for (int i = 0; i < 50; ++i) {
      OfFlow flow;
      FieldValue value = RandomValue(random, field);
      EXPECT_TRUE(IsValidValue(field, value)) << field.name;
      SetField(flow, field, value);
      EXPECT_EQ(GetField(flow, field), value) << field.name;
      EXPECT_EQ(IsFieldUsed(flow, field), !IsZero(value)) << field.name;
      SetField(flow, field, FieldValue());
      // What is set by the way: the presence of a tag whose parts are set.
      flow.packet.vlan_tci = Be16(flow.packet.vlan_tci.Get() & ~kVlanPresent);
      EXPECT_TRUE(flow == OfFlow()) << field.name;
    }
  }
}

TEST(FieldTest, AFieldIsFoundByEveryNameAndHeader) {
  for (const FieldInfo& field : AllFields()) {
    for (std::string_view name : {field.name, field.extra_name, field.nxm_name, field.oxm_name}) {
      if (name.empty()) continue;
      EXPECT_EQ(FindField(name), &field) << name;
    }
    if (!field.nxm_name.empty()) {
      EXPECT_EQ(FindFieldByHeader(field.nxm_header, field.experimenter), &field) << field.name;
      EXPECT_EQ(FindFieldByHeader((field.nxm_header | 0x100) + field.n_bytes, field.experimenter), &field)
          << field.name;
      EXPECT_EQ(FindFieldByHeader(field.nxm_header + 1, field.experimenter), nullptr) << field.name;
    }
    if (field.oxm_name.empty()) continue;
    EXPECT_EQ(FindFieldByHeader(field.oxm_header, 0), &field) << field.name;
  }
  EXPECT_EQ(FindField("ONFOXM_ET_TCP_FLAGS"), &Field(F::kTcpFlags));
  EXPECT_EQ(FindField("nosuch"), nullptr);
  EXPECT_EQ(FindField(""), nullptr);
  EXPECT_EQ(FindField("tun_id"), nullptr);
}

TEST(FieldTest, FieldsThatComeLaterAreNamed) {
  for (const char* name : {"tun_id", "tun_metadata5", "ct_state", "NXM_NX_CT_MARK", "OXM_OF_TUNNEL_ID", "tunnel_id"}) {
    EXPECT_TRUE(IsUnsupportedField(name)) << name;
    EXPECT_EQ(FindField(name), nullptr) << name;
  }
  EXPECT_FALSE(IsUnsupportedField("tcp_src"));
  EXPECT_EQ(Message(ParseSubfield("NXM_NX_CT_MARK[]").status()),
            "NXM_NX_CT_MARK[]: fields of tunnels and connection tracking are not supported yet");
}

TEST(FieldTest, ValuesOutOfAFieldsRangeAreInvalid) {
  auto valid = [](F id, uint64_t value) { return IsValidValue(Field(id), FieldFromU64(Field(id), value)); };
  EXPECT_TRUE(valid(F::kVlanVid, 0x1fff));
  EXPECT_FALSE(valid(F::kVlanVid, 0x2000));
  EXPECT_TRUE(valid(F::kDlVlan, 0xffff));
  EXPECT_FALSE(valid(F::kDlVlan, 0x1000));
  EXPECT_TRUE(valid(F::kIpDscp, 0xfc));
  EXPECT_FALSE(valid(F::kIpDscp, 1));
  EXPECT_FALSE(valid(F::kIpDscpShifted, 64));
  EXPECT_FALSE(valid(F::kIpEcn, 4));
  EXPECT_FALSE(valid(F::kMplsLabel, 1 << 20));
  EXPECT_FALSE(valid(F::kMplsTc, 8));
  EXPECT_FALSE(valid(F::kMplsBos, 2));
  EXPECT_FALSE(valid(F::kVlanPcp, 8));
  EXPECT_FALSE(valid(F::kIpv6Label, 1 << 20));
  EXPECT_FALSE(valid(F::kArpOp, 256));
  EXPECT_FALSE(valid(F::kTcpFlags, 0x1000));
  EXPECT_FALSE(valid(F::kIpFrag, 4));
  EXPECT_FALSE(valid(F::kNshTtl, 64));
  EXPECT_TRUE(valid(F::kInPort, 0xff05));
  EXPECT_FALSE(valid(F::kInPortOxm, 0xff05));
  EXPECT_TRUE(valid(F::kInPortOxm, 0xfffffffe));
}

TEST(FieldTest, RegistersOverlapMostSignificantFirst) {
  OfFlow flow;
  SetField(flow, Field(F::kReg0), FieldFromU64(Field(F::kReg0), 0x11223344));
  SetField(flow, Field(F::kReg1), FieldFromU64(Field(F::kReg1), 0x55667788));
  EXPECT_EQ(FieldToU64(Field(F::kXreg0), GetField(flow, Field(F::kXreg0))), 0x1122334455667788u);
  SetField(flow, Field(F::kReg3), FieldFromU64(Field(F::kReg3), 0x99));
  EXPECT_EQ(FieldToU64(Field(F::kXxreg0), GetField(flow, Field(F::kXxreg0))), 0x99u);
  EXPECT_EQ(GetField(flow, Field(F::kXxreg0)).bytes[0], 0x11);
}

TEST(FieldTest, PartsOfATagMakeItPresent) {
  OfFlow flow;
  SetField(flow, Field(F::kDlVlan), FieldFromU64(Field(F::kDlVlan), 5));
  EXPECT_EQ(flow.packet.vlan_tci, Be16(0x1005));
  SetField(flow, Field(F::kVlanPcp), FieldFromU64(Field(F::kVlanPcp), 3));
  EXPECT_EQ(flow.packet.vlan_tci, Be16(0x7005));
}

TEST(FieldTest, PrerequisitesFollowThePacket) {
  auto has = [](std::string_view text, F id) {
    OfMatch match = MatchOf(text);
    EXPECT_EQ(HasPrereqs(Field(id), match.value), MatchHasPrereqs(Field(id), match)) << text;
    return HasPrereqs(Field(id), match.value);
  };
  EXPECT_TRUE(has("tcp", F::kTcpSrc));
  EXPECT_TRUE(has("tcp6", F::kTcpFlags));
  EXPECT_FALSE(has("udp", F::kTcpSrc));
  EXPECT_FALSE(has("tcp,nw_frag=later", F::kTcpSrc));
  EXPECT_TRUE(has("tcp,nw_frag=first", F::kTcpSrc));
  EXPECT_TRUE(has("arp", F::kArpSpa));
  EXPECT_TRUE(has("rarp", F::kArpOp));
  EXPECT_FALSE(has("arp", F::kIpv4Src));
  EXPECT_TRUE(has("icmp6,icmp_type=135,icmp_code=0", F::kNdSll));
  EXPECT_FALSE(has("icmp6,icmp_type=136,icmp_code=0", F::kNdSll));
  EXPECT_FALSE(has("icmp6,icmp_type=135,icmp_code=1", F::kNdTarget));
  EXPECT_TRUE(has("mplsm", F::kMplsTtl));
  EXPECT_TRUE(has("dl_vlan=5", F::kVlanPcp));
  EXPECT_FALSE(has("dl_vlan=0xffff", F::kVlanPcp));
  EXPECT_TRUE(has("dl_type=0x894f", F::kNshC1));
  EXPECT_TRUE(has("packet_type=(1,0x800)", F::kIpv4Src));
  EXPECT_FALSE(has("packet_type=(1,0x800)", F::kEthSrc));
  EXPECT_TRUE(has("packet_type=(1,0x86dd),nw_proto=58", F::kIcmpv6Type));
}

TEST(FieldTest, UnwildcardingNamesWhatThePrerequisitesLookAt) {
  OfMask mask;
  UnwildcardField(Field(F::kTcpDst), mask);
  EXPECT_EQ(mask.packet.eth_type, Be16(0xffff));
  EXPECT_EQ(mask.packet.ip_proto, 0xff);
  EXPECT_EQ(mask.packet.ip_frag, kFragLater);
  EXPECT_EQ(mask.packet.tp_dst, Be16(0xffff));
  EXPECT_EQ(mask.packet.tp_src, Be16());
  OfMask port;
  UnwildcardField(Field(F::kInPortOxm), port);
  EXPECT_EQ(port.in_port, 0xffffu);
  OfMask vlan;
  UnwildcardField(Field(F::kVlanPcp), vlan);
  EXPECT_EQ(vlan.packet.vlan_tci, Be16(0xf000));
}

TEST(SubfieldTest, ReadsAndWritesPartsOfFields) {
  OfFlow flow;
  Subfield middle = *ParseSubfield("NXM_NX_REG0[8..15]");
  WriteSubfieldU64(middle, 0x1ab, flow);
  EXPECT_EQ(flow.regs[0], 0xab00u);
  EXPECT_EQ(ReadSubfieldU64(middle, flow), 0xabu);
  Subfield wide = *ParseSubfield("NXM_NX_XXREG1[60..67]");
  WriteSubfieldU64(wide, 0xff, flow);
  EXPECT_EQ(flow.regs[5], 0xfu);
  EXPECT_EQ(flow.regs[6], 0xf0000000u);
  SubValue value = ReadSubfield(wide, flow);
  EXPECT_EQ(value[15], 0xff);
  Subfield whole = *ParseSubfield("xxreg1");
  WriteSubfield(whole, value, flow);
  EXPECT_EQ(ReadSubfield(whole, flow), value);
  EXPECT_EQ(flow.regs[7], 0xffu);
  OfMask mask;
  SetSubfieldMask(middle, mask);
  OfMask expected;
  expected.regs[0] = 0xff00;
  EXPECT_TRUE(mask == expected);
  SetSubfieldMask(*ParseSubfield("tcp_src[]"), mask);
  expected.packet.tp_src = Be16(0xffff);
  EXPECT_TRUE(mask == expected) << "prerequisites are not looked at";
}

TEST(SubfieldTest, EveryPartOfEveryFieldReadsBackWhatWasWritten) {
  std::mt19937_64 random(2);
  for (const FieldInfo& field : AllFields()) {
    if (field.text == FieldInfo::Text::kOfPort && field.n_bytes == 4) continue;  // not every number is a port
    if (field.id == F::kIpDscp) continue;                                        // its lower two bits are another's
    for (uint16_t ofs = 0; ofs < field.n_bits; ++ofs) {
      for (uint16_t n_bits = 1; ofs + n_bits <= field.n_bits; n_bits += 7) {
        Subfield part{&field, ofs, n_bits};
        OfFlow flow;
        if (field.id == F::kArpOp && ofs + n_bits > 8) continue;
        uint64_t value = random() & (n_bits >= 64 ? UINT64_MAX : (uint64_t{1} << n_bits) - 1);
        WriteSubfieldU64(part, value, flow);
        ASSERT_EQ(ReadSubfieldU64(part, flow), value) << FormatSubfield(part);
        ASSERT_EQ(*ParseSubfield(FormatSubfield(part)), part) << FormatSubfield(part);
      }
    }
  }
}

TEST(SubfieldTest, PrintsTheNamesOfHeaders) {
  auto text = [](std::string_view from) { return FormatSubfield(*ParseSubfield(from)); };
  EXPECT_EQ(text("eth_src"), "NXM_OF_ETH_SRC[]");
  EXPECT_EQ(text("dl_src[0..5]"), "NXM_OF_ETH_SRC[0..5]");
  EXPECT_EQ(text("reg0[31]"), "NXM_NX_REG0[31]");
  EXPECT_EQ(text("reg0[0..31]"), "NXM_NX_REG0[]");
  EXPECT_EQ(text("metadata[]"), "OXM_OF_METADATA[]");
  EXPECT_EQ(text("xreg0[]"), "OXM_OF_PKT_REG0[]");
  EXPECT_EQ(text("OXM_OF_VLAN_VID[]"), "OXM_OF_VLAN_VID[]");
}

TEST(SubfieldTest, SaysWhatIsWrong) {
  auto error = [](std::string_view text) { return Message(ParseSubfield(text).status()); };
  EXPECT_EQ(error("foo[]"), "foo[]: unknown field `foo'");
  EXPECT_EQ(error("reg0[5..3]"), "reg0[5..3]: starting bit 5 is after ending bit 3");
  EXPECT_EQ(error("reg0[5..35]"), "reg0[5..35]: ending bit 35 is not valid because field is only 32 bits wide");
  EXPECT_EQ(error("OXM_OF_VLAN_VID[12]"),
            "OXM_OF_VLAN_VID[12]: starting bit 12 is not valid because field is only 12 bits wide");
  for (const char* text : {"reg0[", "reg0[1", "reg0[x]", "reg0[1..]", "reg0[]x", "reg0[1..2..3]", "reg0[99999]"}) {
    EXPECT_EQ(error(text), std::string(text) + ": syntax error expecting [] or [<bit>] or [<start>..<end>]");
  }
}

TEST(FieldValueTest, EveryFieldsTextReadsBack) {
  std::mt19937_64 random(3);
  for (const FieldInfo& field : AllFields()) {
    for (int i = 0; i < 50; ++i) {
      FieldValue value = RandomValue(random, field), mask = ExactMask(field);
      if (field.text == FieldInfo::Text::kFrag) value.bytes[0] = i % 2 == 0 ? 0 : 3;
      if (field.mask == FieldInfo::Mask::kFull && i % 2 == 1 && field.text != FieldInfo::Text::kFrag) {
        mask = RandomValue(random, field);
        if (IsZero(mask)) continue;
        for (size_t j = 0; j < value.bytes.size(); ++j) value.bytes[j] &= mask.bytes[j];
      }
      std::string text = FormatFieldValue(field, value, &mask, {});
      absl::StatusOr<ParsedValue> parsed = ParseFieldValue(field, text, {});
      ASSERT_TRUE(parsed.ok()) << field.name << "=" << text << ": " << Message(parsed.status());
      EXPECT_EQ(parsed->value, value) << field.name << "=" << text;
      EXPECT_EQ(parsed->mask, mask) << field.name << "=" << text;
    }
  }
}

}  // namespace
}  // namespace sluice
