#include "lib/io/stream_target.h"

#include <sys/un.h>

#include <charconv>

#include "lib/io/daemon.h"
#include "lib/io/stream.h"

namespace sluice {

namespace {

using Kind = StreamTarget::Kind;

struct Method {
  std::string_view name;
  Kind kind;
  bool passive;
};

constexpr Method kMethods[] = {
    {"unix", Kind::kUnix, false}, {"tcp", Kind::kTcp, false}, {"ssl", Kind::kTls, false},
    {"punix", Kind::kUnix, true}, {"ptcp", Kind::kTcp, true}, {"pssl", Kind::kTls, true},
};

const Method* FindMethod(std::string_view target) {
  const size_t colon = target.find(':');
  for (const Method& method : kMethods) {
    if (colon != target.npos && target.substr(0, colon) == method.name) return &method;
  }
  return nullptr;
}

absl::Status ParsePort(std::string_view target, std::string_view text, bool passive, uint16_t* port) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *port);
  if (error != std::errc() || end != text.data() + text.size() || (*port == 0 && !passive)) {
    return InvalidArgument("{}: port \"{}\": expected a number from {} to 65535", target, text, passive ? 0 : 1);
  }
  return absl::OkStatus();
}

// Takes a bracketed address or what comes before the next colon off the front of `text`.
absl::Status TakeHost(std::string_view target, std::string_view* text, std::string* host) {
  size_t end = text->find(':');
  if (text->starts_with('[')) {
    end = text->find(']');
    if (end == text->npos) {
      return InvalidArgument("{}: '[' without ']': expected an IPv6 address in brackets", target);
    }
    *host = text->substr(1, end - 1);
    ++end;
  } else {
    *host = text->substr(0, end);
  }
  text->remove_prefix(std::min(end, text->size()));
  return absl::OkStatus();
}

// HOST[:PORT]
absl::Status ParseActive(std::string_view target, std::string_view text, StreamTarget* result) {
  SLUICE_RETURN_IF_ERROR(TakeHost(target, &text, &result->host));
  if (result->host.empty()) {
    return InvalidArgument("{}: no host: expected a name or an address before the port", target);
  }
  if (text.empty()) return absl::OkStatus();
  if (text.find(':', 1) != text.npos) {
    return InvalidArgument("{}: expected HOST:PORT (an IPv6 address is written in brackets)", target);
  }
  if (!text.starts_with(':')) {
    return InvalidArgument("{}: \"{}\" after the address: expected :PORT", target, text);
  }
  return ParsePort(target, text.substr(1), false, &result->port);
}

// [PORT][:HOST]
absl::Status ParsePassive(std::string_view target, std::string_view text, StreamTarget* result) {
  const size_t colon = text.find(':');
  const std::string_view port = text.substr(0, colon);
  if (!port.empty()) {
    SLUICE_RETURN_IF_ERROR(ParsePort(target, port, true, &result->port));
  }
  if (colon == text.npos) return absl::OkStatus();
  std::string_view host = text.substr(colon + 1);
  if (!host.starts_with('[')) {
    result->host = host;  // also an IPv6 address without brackets: nothing follows it
    return absl::OkStatus();
  }
  SLUICE_RETURN_IF_ERROR(TakeHost(target, &host, &result->host));
  if (!host.empty()) {
    return InvalidArgument("{}: \"{}\" after the address: expected [PORT][:HOST]", target, host);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<StreamTarget> StreamTarget::Parse(std::string_view target) {
  const Method* method = FindMethod(target);
  if (method == nullptr) {
    return InvalidArgument(
        "\"{}\": unknown connection method; expected unix:FILE, tcp:HOST:PORT, ssl:HOST:PORT, punix:FILE, "
        "ptcp:[PORT][:HOST] or pssl:[PORT][:HOST]",
        target);
  }
  StreamTarget result{.kind = method->kind, .passive = method->passive};
  const std::string_view rest = target.substr(method->name.size() + 1);
  if (method->kind == Kind::kUnix) {
    if (rest.empty()) {
      return InvalidArgument("{}: no file: expected {}:FILE", target, method->name);
    }
    result.path = rest.starts_with('/') ? std::string(rest) : fmt::format("{}/{}", RunDir(), rest);
    if (result.path.size() >= sizeof(sockaddr_un::sun_path) || result.path.find('\0') != std::string::npos) {
      return InvalidArgument("{}: the path of a unix socket has at most {} bytes, and no NUL", target,
                             sizeof(sockaddr_un::sun_path) - 1);
    }
    return result;
  }
  SLUICE_RETURN_IF_ERROR(method->passive ? ParsePassive(target, rest, &result) : ParseActive(target, rest, &result));
  return result;
}

std::string SocketName(StreamTarget::Kind kind, std::string_view host, uint16_t port) {
  const std::string_view method = kind == Kind::kTls ? "ssl" : "tcp";
  const bool bracket = host.find(':') != host.npos;
  return fmt::format("{}:{}{}{}:{}", method, bracket ? "[" : "", host, bracket ? "]" : "", port);
}

absl::Status CheckStreamTarget(std::string_view target) { return StreamTarget::Parse(target).status(); }

bool IsPassiveTarget(std::string_view target) {
  const Method* method = FindMethod(target);
  return method != nullptr && method->passive;
}

}  // namespace sluice
