// The table of all messages: what each is called, where its number stands, which lengths it may have, and the functions
// that decode, encode and print it. One row for each form of a message; each subject has its rows in a file of its own.
//
// Sources: the OpenFlow 1.0.1 to 1.5.1 specifications (7, "The OpenFlow Switch Protocol"), ONF extensions 187, 191,
// 230, 235, and the numbers of Nicira's extensions as documented with Open vSwitch.
#pragma once

#include <absl/types/span.h>
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "lib/openflow/message.h"

namespace sluice::messages {

constexpr uint32_t kNiciraVendor = 0x00002320;
constexpr uint32_t kOnfVendor = 0x4f4e4600;
constexpr size_t kMaxMessage = 65535;

// What decides how bytes are written, besides the body.
struct Form {
  OfVersion version = OfVersion::k10;
  bool extension = false;  // the row is Nicira's or ONF's
  bool nx_table_id = false;
};

// Where the number of a message stands.
enum class Space : uint8_t {
  kPlain,             // the header's type
  kExperimenter,      // behind type 4: experimenter, number
  kRequest,           // multipart
  kReply,             // multipart
  kExperimenterReq,   // multipart type 0xffff: experimenter, number
  kExperimenterReply  // the same
};

// Lengths of the body that are right: `least` bytes, and with `step` multiples of it more. 0: no more.
struct Length {
  size_t least = 0;
  size_t step = 0;
};

struct Text {
  const OfNames& names;
  int verbosity = 0;
  int depth = 0;  // messages inside messages
  Form form;
};

// How one form is decoded, encoded and printed. `index` is its body's place in OfBody.
struct Codec {
  size_t index = 0;
  OfResult<OfBody> (*decode)(WireReader& in, const Form& form, bool more) = nullptr;
  // Writes the body, calling `end_entry` behind each entry of a list.
  void (*encode)(const OfBody& body, const Form& form, WireWriter& out, class PartWriter& parts) = nullptr;
  bool (*more)(const OfBody& body) = nullptr;
  void (*format)(const OfBody& body, const Text& text, std::string& out) = nullptr;
};

struct Row {
  std::string_view name;
  Space space = Space::kPlain;
  uint32_t number = 0;
  uint8_t first = 1;  // wire versions
  uint8_t last = 6;
  Length length;
  Codec codec;
  uint32_t experimenter = 0;
  // Which messages are encoded so; nullptr: all.
  bool (*fits)(const OfMessage& message, const OfCodecState& state) = nullptr;
};

// Puts a message together from a header and a body, and cuts lists into several messages.
class PartWriter {
 public:
  PartWriter(const Row& row, OfVersion version, uint32_t xid);

  WireWriter& out() { return part_; }
  // The bytes since the last call are one entry. One that does not fit into a message is left out.
  void EndEntry();
  // All messages; empty: a message without a list was too long.
  std::string Finish(bool more);

 private:
  void BeginPart();
  void EndPart(bool more);

  const Row& row_;
  const OfVersion version_;
  const uint32_t xid_;
  WireWriter part_;
  size_t header_size_ = 0;
  size_t entry_start_ = 0;
  std::string done_;
};

// The size of the header in front of the body.
size_t HeaderSize(Space space, OfVersion version);
// The row of a message, or which error its header has. `body` begins behind all headers; `more`: the multipart flag.
struct Found {
  const Row* row = nullptr;
  Bytes body;
  bool more = false;
};
OfResult<Found> FindRow(Bytes message);
// The row in which `message` is encoded; nullptr: its version cannot say it.
const Row* ChooseRow(const OfMessage& message, const OfCodecState& state);

std::string FormatNested(Bytes bytes, const Text& text);

template <typename... Args>
OfFailure Fail(OfError error, fmt::format_string<Args...> format, Args&&... args) {
  return {error, fmt::format(format, std::forward<Args>(args)...)};
}

// -- Making rows -----------------------------------------------------------------------------------------------------

namespace internal {

template <typename T, typename Variant>
struct IndexOf;
template <typename T, typename... Rest>
struct IndexOf<T, std::variant<T, Rest...>> : std::integral_constant<size_t, 0> {};
template <typename T, typename First, typename... Rest>
struct IndexOf<T, std::variant<First, Rest...>>
    : std::integral_constant<size_t, 1 + IndexOf<T, std::variant<Rest...>>::value> {};

template <typename Function>
struct BodyOf;
template <typename Body, typename In>
struct BodyOf<OfResult<Body> (*)(In, const Form&)> {
  using type = Body;
};

}  // namespace internal

// A message from functions of its body's type: OfResult<Body> Decode(WireReader&, const Form&),
// void Encode(const Body&, const Form&, WireWriter&), void Format(const Body&, const Text&, std::string&).
template <auto kDecode, auto kEncode, auto kFormat>
constexpr Codec Single() {
  using Body = typename internal::BodyOf<decltype(kDecode)>::type;
  return {internal::IndexOf<Body, OfBody>::value,
          [](WireReader& in, const Form& form, bool) -> OfResult<OfBody> {
            OfResult<Body> body = kDecode(in, form);
            if (!body.ok()) return body.failure();
            return OfBody(*std::move(body));
          },
          [](const OfBody& body, const Form& form, WireWriter& out, PartWriter&) {
            kEncode(std::get<Body>(body), form, out);
          },
          [](const OfBody&) { return false; },
          [](const OfBody& body, const Text& text, std::string& out) { kFormat(std::get<Body>(body), text, out); }};
}

// A message without contents.
template <typename Body>
constexpr Codec Empty() {
  return {internal::IndexOf<Body, OfBody>::value,
          [](WireReader&, const Form&, bool) -> OfResult<OfBody> { return OfBody(Body()); },
          [](const OfBody&, const Form&, WireWriter&, PartWriter&) {}, [](const OfBody&) { return false; },
          [](const OfBody&, const Text&, std::string&) {}};
}

// A list, from functions of its entries' type; `Body` is OfReply<Entry> or made of it.
template <typename Body, auto kDecode, auto kEncode, auto kFormat>
constexpr Codec List() {
  return {internal::IndexOf<Body, OfBody>::value,
          [](WireReader& in, const Form& form, bool more) -> OfResult<OfBody> {
            Body body;
            body.more = more;
            while (!in.AtEnd()) {
              auto entry = kDecode(in, form);
              if (!entry.ok()) return entry.failure();
              if (!in.ok()) break;
              body.entries.push_back(*std::move(entry));
            }
            return OfBody(std::move(body));
          },
          [](const OfBody& body, const Form& form, WireWriter& out, PartWriter& parts) {
            for (const auto& entry : std::get<Body>(body).entries) {
              kEncode(entry, form, out);
              parts.EndEntry();
            }
          },
          [](const OfBody& body) { return std::get<Body>(body).more; },
          [](const OfBody& body, const Text& text, std::string& out) { kFormat(std::get<Body>(body), text, out); }};
}

// -- Pieces that several subjects use
// ----------------------------------------------------------------------------------

// Takes an entry that begins with its own length (16 bits) off `in`; `least` is the smallest that is right. The length
// must be a multiple of 8 if `aligned`. The reader is of the whole entry.
OfResult<WireReader> TakeEntry(WireReader& in, size_t least, std::string_view what, bool aligned = true);
// Writes the entry's length, which began at `start`, at `start + at`.
inline void SetLength(WireWriter& out, size_t start, size_t at = 0) {
  out.SetU16(start + at, static_cast<uint16_t>(out.size() - start));
}

// A property of OpenFlow 1.4+ (7.2.1): type, length, contents; padded to 8 bytes.
struct Property {
  uint16_t type = 0;
  uint32_t experimenter = 0;  // of an experimenter property (type 0xfffe, 0xffff)
  uint32_t exp_type = 0;
  WireReader contents{Bytes()};  // behind the header; of an experimenter property behind exp_type
};
// Experimenter headers are read if `type` is at least `experimenter_from`.
OfResult<Property> TakeProperty(WireReader& in, uint32_t experimenter_from = 0xffff);
// What to do with a property that is not known: an error, or nothing in replies (`loose`).
OfStatus UnknownProperty(const Property& property, bool loose, std::string_view what);
// Writes the header, and gives where the property began to EndProperty.
size_t BeginProperty(uint16_t type, WireWriter& out);
void EndProperty(size_t start, WireWriter& out);

inline void WriteDuration(std::chrono::nanoseconds duration, WireWriter& out) {
  auto nanoseconds = static_cast<uint64_t>(duration.count());
  out.U32(static_cast<uint32_t>(nanoseconds / 1'000'000'000));
  out.U32(static_cast<uint32_t>(nanoseconds % 1'000'000'000));
}
inline std::chrono::nanoseconds ReadDuration(WireReader& in) {
  uint64_t seconds = in.U32();
  uint64_t nanoseconds = in.U32();
  return std::chrono::nanoseconds(static_cast<int64_t>(seconds * 1'000'000'000 + nanoseconds));
}

// Durations of ports, queues and groups: negative if the version has none, all ones if the sender does not know it.
constexpr std::chrono::nanoseconds kNoDuration{-1};
inline void WriteOptionalDuration(std::chrono::nanoseconds duration, WireWriter& out) {
  if (duration >= std::chrono::nanoseconds(0)) return WriteDuration(duration, out);
  out.U64(UINT64_MAX);
}
inline std::chrono::nanoseconds ReadOptionalDuration(WireReader& in) {
  uint32_t seconds = WireReader(in).U32();
  std::chrono::nanoseconds duration = ReadDuration(in);
  return seconds == UINT32_MAX ? kNoDuration : duration;
}

// 16 bits in OpenFlow 1.0, 32 in later versions.
inline void WritePort(OfPort port, OfVersion version, WireWriter& out) {
  if (version == OfVersion::k10) {
    out.U16(port);
  } else {
    out.U32(PortToWire(port));
  }
}
OfResult<OfPort> ReadPort(WireReader& in, OfVersion version, OfError error = OfError::kBrcBadPort);

// -- The subjects' rows
// ------------------------------------------------------------------------------------------------

absl::Span<const Row> SymmetricRows();
absl::Span<const Row> SwitchRows();
absl::Span<const Row> PortRows();
absl::Span<const Row> PortStatsRows();
absl::Span<const Row> FlowRows();
absl::Span<const Row> PacketRows();
absl::Span<const Row> TableRows();
absl::Span<const Row> TableFeaturesRows();
absl::Span<const Row> GroupRows();
absl::Span<const Row> MeterRows();
absl::Span<const Row> QueueRows();
absl::Span<const Row> ControllerRows();
absl::Span<const Row> BundleRows();
absl::Span<const Row> MonitorRows();
absl::Span<const Row> NiciraRows();

}  // namespace sluice::messages
