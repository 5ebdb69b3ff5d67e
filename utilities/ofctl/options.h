// ofctl's options (ovs-ofctl(8), OPTIONS), and the command with its arguments.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/io/stream.h"
#include "lib/openflow/message.h"
#include "utilities/ofctl/formats.h"

namespace sluice::ofctl {

struct SortKey {
  const FieldInfo* field = nullptr;  // nullptr: the priority
  bool descending = false;
};

struct Options {
  OfVersions versions = VersionBit(OfVersion::k10);  // -O, with what --bundle makes of it
  uint32_t formats = kAnyFormat;                     // -F; at the end only those of the versions
  bool strict = false;
  bool read_only = false;
  bool readd = false;
  bool bundle = false;
  bool may_create = false;
  bool timestamp = false;
  bool stats = true;
  std::optional<bool> names;  // nullopt: accepted, and shown on a terminal
  int verbosity = 0;
  unsigned timeout_seconds = 0;  // 0: for ever
  std::optional<PacketInFormat> packet_in_format;
  std::vector<SortKey> sort;
  std::string unixctl;  // of monitor
  TlsConfig tls;

  bool accept_names() const { return names.value_or(true); }
  bool show_names() const;
};

struct CommandLine {
  Options options;
  std::vector<std::string> words;
  std::optional<std::string> answer;  // print this and be done: --help, --version
};

// `arguments`: without the program's name. Not thread-safe (getopt). Sets log levels where the options say so.
absl::StatusOr<CommandLine> ParseCommandLine(const std::vector<std::string>& arguments);

// help.cc
std::string HelpText();
std::string VersionText();

}  // namespace sluice::ofctl
