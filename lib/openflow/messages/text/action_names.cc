#include "lib/openflow/messages/text/text.h"

namespace sluice::messages {
namespace {

// Type numbers of OpenFlow 1.0's enum ofp_action_type, and of 1.1's to 1.5's (1.3.5, 7.2.5). -1: it has none.
struct ActionName {
  std::string_view name;
  int type10;
  int type11;
};
constexpr ActionName kNames[] = {
    {"output", 0, 0},        {"group", -1, 22},        {"enqueue", 11, -1},      {"set_field", -1, 25},
    {"set_vlan_vid", 1, 1},  {"set_vlan_pcp", 2, 2},   {"strip_vlan", 3, 18},    {"push_vlan", -1, 17},
    {"mod_dl_src", 4, 3},    {"mod_dl_dst", 5, 4},     {"mod_nw_src", 6, 5},     {"mod_nw_dst", 7, 6},
    {"mod_nw_tos", 8, 7},    {"mod_nw_ecn", -1, 8},    {"mod_nw_ttl", -1, 23},   {"mod_tp_src", 9, 9},
    {"mod_tp_dst", 10, 10},  {"move", -1, 28},         {"dec_ttl", -1, 24},      {"set_mpls_label", -1, 13},
    {"set_mpls_tc", -1, 14}, {"set_mpls_ttl", -1, 15}, {"dec_mpls_ttl", -1, 16}, {"push_mpls", -1, 19},
    {"pop_mpls", -1, 20},    {"set_queue", -1, 21},    {"meter", -1, 29},
};

bool Exists(int type, OfVersion version) {
  if (version == OfVersion::k10 || version == OfVersion::k11) return type < 25;
  // 1.2 replaced most of 1.1's by set_field; 1.5 brought copy_field and the meter as an action.
  bool replaced = (type >= 1 && type <= 10) || type == 13 || type == 14;
  return !replaced && (type < 26 || version == OfVersion::k15);
}

}  // namespace

std::string ActionNames(uint32_t actions, OfVersion version) {
  std::string out;
  for (const ActionName& action : kNames) {
    int type = version == OfVersion::k10 ? action.type10 : action.type11;
    if (type < 0 || (actions >> type & 1) == 0 || !Exists(type, version)) continue;
    if (!out.empty()) out += " ";
    out += action.name;
  }
  return out.empty() ? "<none>" : out;
}

}  // namespace sluice::messages
