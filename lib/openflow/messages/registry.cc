#include "lib/openflow/messages/registry.h"

#include <absl/container/flat_hash_map.h>

#include <vector>

namespace sluice::messages {
namespace {

constexpr uint8_t kExperimenterType = 4;
constexpr uint16_t kExperimenterMultipart = 0xffff;
constexpr uint16_t kMoreFlag = 1;

uint8_t RequestType(OfVersion version) { return version == OfVersion::k10 ? 16 : 18; }

// What a header says: version, space, experimenter and number as one key.
using Key = std::pair<uint64_t, uint32_t>;
Key MakeKey(uint8_t version, Space space, uint32_t experimenter, uint32_t number) {
  return {static_cast<uint64_t>(version) << 40 | static_cast<uint64_t>(space) << 32 | experimenter, number};
}

class Registry {
 public:
  Registry() : by_body_(std::variant_size_v<OfBody>) {
    for (absl::Span<const Row> rows : {SymmetricRows(), SwitchRows(), PortRows(), PortStatsRows(), FlowRows(),
                                       PacketRows(), TableRows(), TableFeaturesRows(), GroupRows(), MeterRows(),
                                       QueueRows(), ControllerRows(), BundleRows(), MonitorRows(), NiciraRows()}) {
      for (const Row& row : rows) Add(row);
    }
  }

  const Row* Find(const Key& key) const {
    auto it = by_key_.find(key);
    return it == by_key_.end() ? nullptr : it->second;
  }
  bool KnowsExperimenter(uint32_t experimenter) const {
    return experimenter == kNiciraVendor || experimenter == kOnfVendor;
  }
  const std::vector<const Row*>& OfBodyIndex(size_t index) const { return by_body_[index]; }

 private:
  void Add(const Row& row) {
    for (uint8_t version = row.first; version <= row.last; ++version) {
      by_key_.emplace(MakeKey(version, row.space, row.experimenter, row.number), &row);
    }
    by_body_[row.codec.index].push_back(&row);
  }

  absl::flat_hash_map<Key, const Row*> by_key_;
  std::vector<std::vector<const Row*>> by_body_;
};

const Registry& TheRegistry() {
  static const Registry* const registry = new Registry;  // never destroyed: used until the last thread ends
  return *registry;
}

struct Identity {
  Space space = Space::kPlain;
  uint32_t experimenter = 0;
  uint32_t number = 0;
  bool more = false;
};

OfResult<Identity> ReadMultipart(WireReader& in, OfVersion version, bool reply) {
  Identity id;
  id.number = in.U16();
  id.more = (in.U16() & kMoreFlag) != 0;
  if (version != OfVersion::k10) in.Skip(4);
  id.space = reply ? Space::kReply : Space::kRequest;
  if (id.number == kExperimenterMultipart) {
    id.space = reply ? Space::kExperimenterReply : Space::kExperimenterReq;
    id.experimenter = in.U32();
    id.number = in.U32();
    if (version == OfVersion::k10) in.Skip(4);
  }
  if (!in.ok()) return Fail(OfError::kBrcBadLen, "multipart message is shorter than its header");
  return id;
}

OfResult<Identity> ReadIdentity(WireReader& in, const OfHeader& header) {
  auto version = static_cast<OfVersion>(header.version);
  if (header.type == kExperimenterType) {
    Identity id{Space::kExperimenter};
    id.experimenter = in.U32();
    if (!in.ok()) return Fail(OfError::kBrcBadLen, "experimenter message is shorter than its header");
    // What follows of an experimenter that is not known need not be a number.
    if (TheRegistry().KnowsExperimenter(id.experimenter)) {
      id.number = in.U32();
      if (!in.ok()) return Fail(OfError::kBrcBadLen, "experimenter message is shorter than its header");
    }
    return id;
  }
  if (header.type == RequestType(version)) return ReadMultipart(in, version, false);
  if (header.type == RequestType(version) + 1) return ReadMultipart(in, version, true);
  Identity id;
  id.number = header.type;
  return id;
}

OfFailure NotKnown(const OfHeader& header, const Identity& id) {
  switch (id.space) {
    case Space::kPlain:
      return Fail(OfError::kBrcBadType, "version {} has no message type {}", header.version, header.type);
    case Space::kRequest:
    case Space::kReply:
      return Fail(OfError::kBrcBadStat, "version {} has no multipart type {}", header.version, id.number);
    default:
      if (TheRegistry().KnowsExperimenter(id.experimenter)) {
        return Fail(OfError::kBrcBadExpType, "experimenter {:#x} has no message {} in version {}", id.experimenter,
                    id.number, header.version);
      }
      return Fail(OfError::kBrcBadExperimenter, "experimenter {:#x} is not known", id.experimenter);
  }
}

bool IsRight(const Length& length, size_t size) {
  if (size < length.least) return false;
  return length.step == 0 ? size == length.least : (size - length.least) % length.step == 0;
}

}  // namespace

size_t HeaderSize(Space space, OfVersion version) {
  switch (space) {
    case Space::kPlain:
      return kOfHeaderSize;
    case Space::kExperimenter:
      return kOfHeaderSize + 8;
    case Space::kRequest:
    case Space::kReply:
      return version == OfVersion::k10 ? 12 : 16;
    case Space::kExperimenterReq:
    case Space::kExperimenterReply:
      return 24;
  }
  return kOfHeaderSize;
}

OfResult<Found> FindRow(Bytes message) {
  if (message.size() < kOfHeaderSize) {
    return Fail(OfError::kBrcBadLen, "message of {} bytes is shorter than a header", message.size());
  }
  OfHeader header = ReadHeader(message);
  if (header.length != message.size()) {
    return Fail(OfError::kBrcBadLen, "message of {} bytes says that it has {}", message.size(), header.length);
  }
  // Hello, error and echo are the same in all versions, those that are not made yet included (OpenFlow 1.3.1, 6.3.1).
  bool any_version = header.type <= 3;
  if (!any_version && (header.version < 1 || header.version > 6)) {
    return Fail(OfError::kBrcBadVersion, "OpenFlow version {:#x} is not known", header.version);
  }
  WireReader in(message.subspan(kOfHeaderSize));
  Identity id;
  if (any_version) {
    id.number = header.type;
  } else {
    OfResult<Identity> read = ReadIdentity(in, header);
    if (!read.ok()) return read.failure();
    id = *read;
  }
  uint8_t version = any_version ? 1 : header.version;
  const Row* row = TheRegistry().Find(MakeKey(version, id.space, id.experimenter, id.number));
  if (row == nullptr) return NotKnown(header, id);
  if (!IsRight(row->length, in.left())) {
    return Fail(OfError::kBrcBadLen, "{} cannot have {} bytes", row->name, message.size());
  }
  return Found{row, in.Rest(), id.more};
}

const Row* ChooseRow(const OfMessage& message, const OfCodecState& state) {
  const Row* chosen = nullptr;
  auto version = static_cast<uint8_t>(message.version);
  for (const Row* row : TheRegistry().OfBodyIndex(message.body.index())) {
    if (version < row->first || version > row->last) continue;
    if (row->fits != nullptr && !row->fits(message, state)) continue;
    if ((row->experimenter == kNiciraVendor) == message.nxm) return row;
    if (chosen == nullptr) chosen = row;
  }
  return chosen;
}

PartWriter::PartWriter(const Row& row, OfVersion version, uint32_t xid) : row_(row), version_(version), xid_(xid) {
  header_size_ = HeaderSize(row.space, version);
  BeginPart();
}

void PartWriter::BeginPart() {
  part_ = WireWriter();
  bool multipart = row_.space != Space::kPlain && row_.space != Space::kExperimenter;
  bool reply = row_.space == Space::kReply || row_.space == Space::kExperimenterReply;
  bool experimenter = row_.space == Space::kExperimenterReq || row_.space == Space::kExperimenterReply;
  part_.U8(static_cast<uint8_t>(version_));
  if (multipart) {
    part_.U8(static_cast<uint8_t>(RequestType(version_) + (reply ? 1 : 0)));
  } else {
    part_.U8(row_.space == Space::kExperimenter ? kExperimenterType : static_cast<uint8_t>(row_.number));
  }
  part_.U16(0);
  part_.U32(xid_);
  if (row_.space == Space::kExperimenter) {
    part_.U32(row_.experimenter);
    part_.U32(row_.number);
  }
  if (multipart) {
    part_.U16(experimenter ? kExperimenterMultipart : static_cast<uint16_t>(row_.number));
    part_.U16(0);
    if (version_ != OfVersion::k10) part_.U32(0);
  }
  if (experimenter) {
    part_.U32(row_.experimenter);
    part_.U32(row_.number);
    if (version_ == OfVersion::k10) part_.U32(0);
  }
  entry_start_ = part_.size();
}

void PartWriter::EndPart(bool more) {
  SetLength(part_, 0, 2);
  if (more) part_.SetU16(10, kMoreFlag);
  done_ += part_.bytes();
}

void PartWriter::EndEntry() {
  if (part_.size() <= kMaxMessage) {
    entry_start_ = part_.size();
    return;
  }
  std::string bytes = part_.Release();
  std::string entry = bytes.substr(entry_start_);
  bytes.resize(entry_start_);
  bool fits = header_size_ + entry.size() <= kMaxMessage;
  if (fits && entry_start_ > header_size_) {
    part_ = WireWriter();
    part_.Raw(AsBytes(bytes));
    EndPart(true);
    BeginPart();
    part_.Raw(AsBytes(entry));
    entry_start_ = part_.size();
  } else {
    part_ = WireWriter();
    part_.Raw(AsBytes(bytes));
  }
}

std::string PartWriter::Finish(bool more) {
  if (part_.size() > kMaxMessage) return "";
  EndPart(more);
  return std::move(done_);
}

OfResult<WireReader> TakeEntry(WireReader& in, size_t least, std::string_view what, bool aligned) {
  WireReader peek = in;
  size_t length = peek.U16();
  if (!peek.ok() || length < least || length > in.left() || (aligned && length % 8 != 0)) {
    return Fail(OfError::kBrcBadLen, "{} of {} bytes, where {} are left", what, length, in.left());
  }
  return WireReader(in.Take(length));
}

OfResult<Property> TakeProperty(WireReader& in, uint32_t experimenter_from) {
  WireReader peek = in;
  Property property;
  property.type = peek.U16();
  size_t length = peek.U16();
  size_t padded = (length + 7) / 8 * 8;
  if (!peek.ok() || length < 4 || padded > in.left()) {
    return Fail(OfError::kBpcBadLen, "property of {} bytes, where {} are left", length, in.left());
  }
  property.contents = WireReader(in.Take(padded).subspan(0, length));
  property.contents.Skip(4);
  if (property.type >= experimenter_from) {
    property.experimenter = property.contents.U32();
    property.exp_type = property.contents.U32();
    if (!property.contents.ok()) return Fail(OfError::kBpcBadLen, "experimenter property of {} bytes", length);
  }
  return property;
}

OfStatus UnknownProperty(const Property& property, bool loose, std::string_view what) {
  if (loose) return std::nullopt;
  if (property.type >= 0xfffe) {
    return Fail(OfError::kBpcBadExperimenter, "{} has no property of experimenter {:#x}", what, property.experimenter);
  }
  return Fail(OfError::kBpcBadType, "{} has no property {:#x}", what, property.type);
}

size_t BeginProperty(uint16_t type, WireWriter& out) {
  size_t start = out.size();
  out.U16(type);
  out.U16(0);
  return start;
}

void EndProperty(size_t start, WireWriter& out) {
  SetLength(out, start, 2);
  out.PadFrom(start, 8);
}

OfResult<OfPort> ReadPort(WireReader& in, OfVersion version, OfError error) {
  if (version == OfVersion::k10) return static_cast<OfPort>(in.U16());
  uint32_t wire = in.U32();
  std::optional<OfPort> port = PortFromWire(wire);
  if (!port) return Fail(error, "port {:#x} is above 0xfeff and not reserved", wire);
  return *port;
}

}  // namespace sluice::messages
