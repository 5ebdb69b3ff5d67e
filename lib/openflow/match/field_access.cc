#include <algorithm>
#include <cstring>

#include "lib/openflow/match/field_storage.h"

namespace sluice {
namespace {

using Kind = FieldStorage::Kind;

const uint8_t* At(const OfFlow& flow, const FieldStorage& storage) {
  return reinterpret_cast<const uint8_t*>(&flow) + storage.offset;
}
uint8_t* At(OfFlow& flow, const FieldStorage& storage) { return reinterpret_cast<uint8_t*>(&flow) + storage.offset; }

uint64_t LoadBe(const uint8_t* from, size_t size) {
  uint64_t value = 0;
  for (size_t i = 0; i < size; ++i) value = value << 8 | from[i];
  return value;
}
void StoreBe(uint8_t* to, size_t size, uint64_t value) {
  for (size_t i = size; i-- > 0; value >>= 8) to[i] = static_cast<uint8_t>(value);
}
uint64_t LoadHost(const uint8_t* from, size_t size) {
  uint64_t value = 0;
  std::memcpy(&value, from, size);  // little-endian hosts only, as all of the project
  return value;
}

uint64_t LoadInteger(const OfFlow& flow, const FieldStorage& storage) {
  const uint8_t* from = At(flow, storage);
  return storage.kind == Kind::kBe ? LoadBe(from, storage.size) : LoadHost(from, storage.size);
}

void StoreInteger(OfFlow& flow, const FieldStorage& storage, uint64_t value) {
  uint8_t* to = At(flow, storage);
  if (storage.kind == Kind::kBe) {
    StoreBe(to, storage.size, value);
  } else {
    std::memcpy(to, &value, storage.size);
  }
}

}  // namespace

FieldValue GetField(const OfFlow& flow, const FieldInfo& field) {
  const FieldStorage& storage = StorageOf(field.id);
  FieldValue value;
  switch (storage.kind) {
    case Kind::kBytes:
      std::memcpy(value.bytes.data(), At(flow, storage), storage.size);
      break;
    case Kind::kWords:
      for (size_t i = 0; i < storage.size; i += 4) StoreBe(&value.bytes[i], 4, LoadHost(At(flow, storage) + i, 4));
      break;
    case Kind::kPort: {
      auto port = static_cast<OfPort>(LoadHost(At(flow, storage), 4));
      StoreBe(value.bytes.data(), field.n_bytes, field.n_bytes == 4 ? PortToWire(port) : port);
      break;
    }
    case Kind::kBe:
    case Kind::kHost:
      StoreBe(value.bytes.data(), field.n_bytes, LoadInteger(flow, storage) >> storage.shift & storage.bits);
      break;
  }
  return value;
}

void SetField(OfFlow& flow, const FieldInfo& field, const FieldValue& value) {
  const FieldStorage& storage = StorageOf(field.id);
  switch (storage.kind) {
    case Kind::kBytes:
      std::memcpy(At(flow, storage), value.bytes.data(), storage.size);
      break;
    case Kind::kWords:
      for (size_t i = 0; i < storage.size; i += 4) {
        auto word = static_cast<uint32_t>(LoadBe(&value.bytes[i], 4));
        std::memcpy(At(flow, storage) + i, &word, 4);
      }
      break;
    case Kind::kPort: {
      auto wire = static_cast<uint32_t>(LoadBe(value.bytes.data(), field.n_bytes));
      uint32_t port = field.n_bytes == 2 ? wire : PortFromWire(wire).value_or(kOfpNone);
      std::memcpy(At(flow, storage), &port, 4);
      break;
    }
    case Kind::kBe:
    case Kind::kHost: {
      uint64_t bits = storage.bits << storage.shift;
      uint64_t wanted = (LoadBe(value.bytes.data(), field.n_bytes) & storage.bits) << storage.shift;
      uint64_t now = LoadInteger(flow, storage);
      if (field.id == FieldId::kDlVlan || field.id == FieldId::kVlanPcp || field.id == FieldId::kDlVlanPcp) {
        now |= kVlanPresent;
      }
      StoreInteger(flow, storage, (now & ~bits) | wanted);
      break;
    }
  }
}

FieldValue ExactMask(const FieldInfo& field) {
  const FieldStorage& storage = StorageOf(field.id);
  FieldValue mask;
  if (storage.kind == Kind::kBe || storage.kind == Kind::kHost) {
    // What a mask of ones in the flow reads as: of arp_op a byte, of vlan_vid the presence bit too.
    StoreBe(mask.bytes.data(), field.n_bytes, storage.bits);
  } else {
    std::fill_n(mask.bytes.begin(), field.n_bytes, 0xff);
  }
  return mask;
}

bool IsZero(const FieldValue& value) { return value == FieldValue{}; }

bool IsFieldUsed(const OfMask& mask, const FieldInfo& field) {
  const FieldStorage& storage = StorageOf(field.id);
  const uint8_t* from = At(mask, storage);
  if (storage.kind == Kind::kBe || storage.kind == Kind::kHost) {
    return (LoadInteger(mask, storage) >> storage.shift & storage.bits) != 0;
  }
  return std::any_of(from, from + storage.size, [](uint8_t byte) { return byte != 0; });
}

FieldValue FieldFromU64(const FieldInfo& field, uint64_t value) {
  FieldValue made;
  if (field.n_bytes <= 8) {
    StoreBe(made.bytes.data(), field.n_bytes, value);
  } else {
    StoreBe(&made.bytes[field.n_bytes - 8u], 8, value);
  }
  return made;
}

uint64_t FieldToU64(const FieldInfo& field, const FieldValue& value) {
  if (field.n_bytes <= 8) return LoadBe(value.bytes.data(), field.n_bytes);
  return LoadBe(&value.bytes[field.n_bytes - 8u], 8);
}

void MatchField(OfMatch& match, const FieldInfo& field, const FieldValue& value, const FieldValue& mask) {
  FieldValue masked;
  for (size_t i = 0; i < masked.bytes.size(); ++i) masked.bytes[i] = value.bytes[i] & mask.bytes[i];
  switch (field.id) {
    case FieldId::kDlVlan:
      // OFP_VLAN_NONE: no tag at all.
      if (FieldToU64(field, value) == 0xffff) {
        match.value.packet.vlan_tci = Be16();
        match.mask.packet.vlan_tci = Be16(0xffff);
        return;
      }
      [[fallthrough]];
    case FieldId::kDlVlanPcp:
    case FieldId::kVlanPcp:
      // Sets the presence bit as well, which goes when the tag's last part does.
      SetField(match.value, field, masked);
      SetField(match.mask, field, mask);
      if (uint16_t left = match.mask.packet.vlan_tci.Get(); IsZero(mask) && left == kVlanPresent) {
        match.mask.packet.vlan_tci = Be16();
      }
      match.value.packet.vlan_tci = match.value.packet.vlan_tci & match.mask.packet.vlan_tci;
      return;
    case FieldId::kIcmpv4Type:
    case FieldId::kIcmpv4Code:
    case FieldId::kIcmpv6Type:
    case FieldId::kIcmpv6Code: {
      // All 16 bits of the slot, so that matches written with tp_src are the same.
      bool source = field.id == FieldId::kIcmpv4Type || field.id == FieldId::kIcmpv6Type;
      (source ? match.value.packet.tp_src : match.value.packet.tp_dst) = Be16(masked.bytes[0]);
      (source ? match.mask.packet.tp_src : match.mask.packet.tp_dst) = Be16(mask.bytes[0] == 0xff ? 0xffff : 0);
      return;
    }
    case FieldId::kInPort:
    case FieldId::kInPortOxm:
    case FieldId::kActsetOutput: {
      // A port's mask is all or nothing, 16 bits wide.
      SetField(match.value, field, masked);
      uint32_t bits = IsZero(mask) ? 0 : 0xffff;
      if (bits == 0) SetField(match.value, field, FieldValue());
      (field.id == FieldId::kActsetOutput ? match.mask.actset_output : match.mask.in_port) = bits;
      return;
    }
    default:
      SetField(match.value, field, masked);
      SetField(match.mask, field, mask);
  }
}

bool IsValidValue(const FieldInfo& field, const FieldValue& value) {
  const FieldStorage& storage = StorageOf(field.id);
  switch (storage.kind) {
    case Kind::kBytes:
    case Kind::kWords:
      return true;
    case Kind::kPort:
      return field.n_bytes == 2 || PortFromWire(static_cast<uint32_t>(FieldToU64(field, value))).has_value();
    case Kind::kBe:
    case Kind::kHost:
      break;
  }
  uint64_t number = FieldToU64(field, value);
  if (field.id == FieldId::kDlVlan && number == 0xffff) return true;
  if (field.id == FieldId::kNshTtl) return number <= 63;  // six bits of the header (RFC 8300, 2.2)
  // Only the lower byte of an ARP opcode is kept in a flow.
  return (number & ~storage.bits) == 0;
}

}  // namespace sluice
