#include "tests/lib/openflow/match/match_text.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "lib/base/status.h"

namespace sluice {
namespace {

using F = FieldId;

absl::Status ParseItems(std::string_view text, OfMatch& match) {
  while (!text.empty()) {
    // A comma in packet_type's parentheses does not end the item.
    size_t close = text.find(')'), comma = text.find(',');
    if (text.starts_with("packet_type=(") && close != std::string_view::npos) comma = text.find(',', close);
    std::string_view item = text.substr(0, comma);
    text.remove_prefix(std::min(item.size() + 1, text.size()));
    size_t equals = item.find('=');
    std::string_view value = equals == std::string_view::npos ? std::string_view() : item.substr(equals + 1);
    bool used = false;
    absl::Status status = ParseMatchItem(item.substr(0, equals), value, {}, match, used);
    if (!status.ok()) return status;
    if (!used) return InvalidArgument("unknown keyword {}", item);
  }
  return absl::OkStatus();
}

}  // namespace

OfMatch MatchOf(std::string_view text) {
  OfMatch match;
  absl::Status status = ParseItems(text, match);
  EXPECT_TRUE(status.ok()) << text << ": " << Message(status);
  return match;
}

std::string ErrorOf(std::string_view text) {
  OfMatch match;
  absl::Status status = ParseItems(text, match);
  if (!status.ok()) return Message(status);
  OfStatus failed = CheckMatch(match);
  return failed ? failed->message : "";
}

std::string TextOf(const OfMatch& match) { return FormatMatch(match, 32768, {}); }

uint64_t RandomSeed() {
  const char* given = std::getenv("OPENFLOW_SEED");
  uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 0) : 20261201;
  std::printf("OPENFLOW_SEED=%llu\n", static_cast<unsigned long long>(seed));
  return seed;
}

std::vector<std::string> OvsOfctl(const std::string& arguments, const std::string& input) {
  char path[] = "/tmp/openflow_match_testXXXXXX";
  close(mkstemp(path));
  std::string errors = std::string(path) + ".errors";
  std::ofstream(path) << input;
  FILE* pipe = popen(("ovs-ofctl " + arguments + " 2>" + errors + " <" + path).c_str(), "r");
  std::string output;
  char buffer[4096];
  for (size_t got; (got = fread(buffer, 1, sizeof buffer, pipe)) > 0;) output.append(buffer, got);
  int status = pclose(pipe);
  std::stringstream said;
  said << std::ifstream(errors).rdbuf();
  EXPECT_EQ(status, 0) << "ovs-ofctl " << arguments << ": " << said.str();
  unlink(path);
  unlink(errors.c_str());
  std::vector<std::string> lines;
  for (size_t start = 0; start < output.size();) {
    size_t end = std::min(output.find('\n', start), output.size());
    lines.push_back(output.substr(start, end - start));
    start = end + 1;
  }
  return lines;
}

namespace {

class Generator {
 public:
  Generator(std::mt19937_64& random, const RandomMatchOptions& options) : random_(random), options_(options) {}

  OfMatch Run() && {
    for (F id : {F::kPktMark, F::kDpHash, F::kMetadata, F::kReg0, F::kReg1, F::kReg7, F::kReg15}) Maybe(id, 6);
    for (F id : {F::kRecircId, F::kConjId}) Maybe(id, 10);
    if (OneIn(3)) Exact(F::kInPort, OneIn(5) ? kOfpLocal : Number(1000));
    if (OneIn(10)) Exact(F::kActsetOutput, OneIn(5) ? 0xfffffffe : Number(1000));
    static constexpr uint16_t kTypes[] = {0x0800, 0x0800, 0x86dd, 0x86dd, 0x0806, 0x8035,
                                          0x8847, 0x8848, 0x894f, 0x88cc, 0x05ff};
    uint16_t type = kTypes[Number(std::size(kTypes))];
    if (type == 0x894f && !options_.nsh) type = 0x0800;
    if (options_.packet_type && OneIn(4)) {
      Exact(F::kPacketType, 0x10000 | type);
    } else {
      Ethernet();
      if (OneIn(8)) return match_;
      Exact(F::kEthType, type);
    }
    Network(type);
    return match_;
  }

 private:
  uint64_t Number(uint64_t below) { return random_() % below; }
  bool OneIn(uint64_t n) { return Number(n) == 0; }
  void Exact(F id, uint64_t value) {
    MatchField(match_, Field(id), FieldFromU64(Field(id), value), ExactMask(Field(id)));
  }
  FieldValue RandomValue(const FieldInfo& field) {
    FieldValue value, exact = ExactMask(field);
    bool zero = OneIn(8);
    for (size_t i = 0; i < field.n_bytes && !zero; ++i)
      value.bytes[i] = exact.bytes[i] & static_cast<uint8_t>(random_());
    return value;
  }
  FieldValue RandomMask(const FieldInfo& field) {
    FieldValue mask = ExactMask(field);
    if (field.mask == FieldInfo::Mask::kNone || OneIn(2)) return mask;
    bool prefix = OneIn(2);
    size_t bits = 1 + Number(field.n_bytes * 8u);
    for (size_t i = 0; i < field.n_bytes * 8u; ++i) {
      bool keep = prefix ? i < bits : OneIn(2);
      if (!keep) mask.bytes[i / 8] &= static_cast<uint8_t>(~(0x80u >> i % 8));
    }
    // ovs-ofctl takes an IPv6 mask that starts with a decimal digit for a prefix length.
    if (field.text == FieldInfo::Text::kIpv6) mask.bytes[0] |= 0xf0;
    return mask;
  }
  void Maybe(F id, uint64_t one_in) {
    if (!OneIn(one_in)) return;
    const FieldInfo& field = Field(id);
    FieldValue mask = RandomMask(field);
    if (!IsZero(mask)) MatchField(match_, field, RandomValue(field), mask);
  }

  void Ethernet() {
    Maybe(F::kEthSrc, 3);
    Maybe(F::kEthDst, 3);
    switch (Number(7)) {
      case 0:
        Exact(F::kDlVlan, Number(4096));
        break;
      case 1:
        Exact(F::kDlVlan, 0xffff);
        break;
      case 2:
        Exact(F::kDlVlan, Number(4096));
        Exact(F::kDlVlanPcp, Number(8));
        break;
      case 3:
        Exact(F::kDlVlanPcp, Number(8));
        break;
      case 4: {
        // Of a tag that is there.
        FieldValue mask = RandomMask(Field(F::kVlanTci));
        mask.bytes[0] |= 0x10;
        FieldValue value = RandomValue(Field(F::kVlanTci));
        value.bytes[0] |= 0x10;
        MatchField(match_, Field(F::kVlanTci), value, mask);
        break;
      }
      default:
        break;
    }
  }

  void Network(uint16_t type) {
    switch (type) {
      case 0x0800:
        Maybe(F::kIpv4Src, 2);
        Maybe(F::kIpv4Dst, 2);
        return Ip();
      case 0x86dd:
        Maybe(F::kIpv6Src, 2);
        Maybe(F::kIpv6Dst, 2);
        Maybe(F::kIpv6Label, 4);
        return Ip();
      case 0x0806:
      case 0x8035:
        for (F id : {F::kArpSpa, F::kArpTpa, F::kArpSha, F::kArpTha}) Maybe(id, 3);
        if (OneIn(3)) Exact(F::kArpOp, Number(256));
        return;
      case 0x8847:
      case 0x8848:
        for (F id : {F::kMplsLabel, F::kMplsTc, F::kMplsBos, F::kMplsTtl}) Maybe(id, 3);
        return;
      case 0x894f:
        // ovs-ofctl prints the contexts of metadata type 1 only.
        Exact(F::kNshMdtype, 1);
        if (OneIn(3)) Exact(F::kNshTtl, Number(64));
        for (F id : {F::kNshFlags, F::kNshNp, F::kNshSpi, F::kNshSi, F::kNshC1, F::kNshC2, F::kNshC3}) {
          Maybe(id, 3);
        }
        return;
      default:
        return;
    }
  }

  void Ip() {
    for (F id : {F::kIpDscp, F::kIpEcn, F::kIpTtl}) Maybe(id, 4);
    bool is_ipv6 = match_.value.packet.eth_type == Be16(0x86dd) || (match_.value.packet_type & 0xffff) == 0x86dd;
    bool later = false;
    if (OneIn(4)) {
      static constexpr uint8_t kFrags[][2] = {{0, 3}, {1, 1}, {1, 3}, {3, 3}, {0, 2}};
      const uint8_t* frag = kFrags[Number(5)];
      later = frag[0] == 3;
      MatchField(match_, Field(F::kIpFrag), FieldFromU64(Field(F::kIpFrag), frag[0]),
                 FieldFromU64(Field(F::kIpFrag), frag[1]));
    }
    static constexpr uint8_t kProtocols[] = {6, 6, 17, 17, 132, 1, 58, 2, 99};
    if (OneIn(5)) return;
    uint8_t protocol = kProtocols[Number(std::size(kProtocols))];
    if (protocol == 1 && is_ipv6) protocol = 58;
    Exact(F::kIpProto, protocol);
    if (later) return;
    if (protocol == 6 || protocol == 17 || protocol == 132) {
      Maybe(F::kTcpSrc, 2);
      Maybe(F::kTcpDst, 2);
      if (protocol == 6) Maybe(F::kTcpFlags, 3);
    } else if (protocol == 1) {
      Maybe(F::kIcmpv4Type, 2);
      Maybe(F::kIcmpv4Code, 2);
    } else if (protocol == 58 && is_ipv6) {
      Icmpv6();
    }
  }

  void Icmpv6() {
    bool is_nd = OneIn(2);
    if (!is_nd) {
      Maybe(F::kIcmpv6Type, 2);
      return Maybe(F::kIcmpv6Code, 2);
    }
    bool solicit = OneIn(2);
    Exact(F::kIcmpv6Type, solicit ? 135 : 136);
    Exact(F::kIcmpv6Code, 0);
    Maybe(F::kNdTarget, 2);
    Maybe(solicit ? F::kNdSll : F::kNdTll, 2);
  }

  std::mt19937_64& random_;
  RandomMatchOptions options_;
  OfMatch match_;
};

}  // namespace

OfMatch RandomMatch(std::mt19937_64& random, const RandomMatchOptions& options) {
  return Generator(random, options).Run();
}

}  // namespace sluice
