#include "utilities/ofctl/options.h"

#include <absl/strings/numbers.h>
#include <getopt.h>
#include <unistd.h>

#include <cstdlib>

#include "lib/base/log.h"
#include "lib/io/daemon.h"
#include "lib/io/tls_options.h"

namespace sluice::ofctl {
namespace {

enum Choice : int {
  kStrict = 0x1000,
  kReadOnly,
  kReadd,
  kTimestamp,
  kSort,
  kRsort,
  kUnixctl,
  kBundle,
  kMayCreate,
  kNames,
  kNoNames,
  kStats,
  kNoStats,
  kColor,
  kVerbose,
  kLogFile,
  kIgnored,         // accepted for the sake of scripts
  kIgnoredArgument,
};

constexpr option kOptions[] = {
    {"timeout", required_argument, nullptr, 't'},
    {"strict", no_argument, nullptr, kStrict},
    {"read-only", no_argument, nullptr, kReadOnly},
    {"readd", no_argument, nullptr, kReadd},
    {"flow-format", required_argument, nullptr, 'F'},
    {"packet-in-format", required_argument, nullptr, 'P'},
    {"protocols", required_argument, nullptr, 'O'},
    {"more", no_argument, nullptr, 'm'},
    {"timestamp", no_argument, nullptr, kTimestamp},
    {"sort", optional_argument, nullptr, kSort},
    {"rsort", optional_argument, nullptr, kRsort},
    {"names", no_argument, nullptr, kNames},
    {"no-names", no_argument, nullptr, kNoNames},
    {"stats", no_argument, nullptr, kStats},
    {"no-stats", no_argument, nullptr, kNoStats},
    {"unixctl", required_argument, nullptr, kUnixctl},
    {"help", no_argument, nullptr, 'h'},
    {"version", no_argument, nullptr, 'V'},
    {"bundle", no_argument, nullptr, kBundle},
    {"color", optional_argument, nullptr, kColor},
    {"may-create", no_argument, nullptr, kMayCreate},
    {"verbose", optional_argument, nullptr, 'v'},
    {"log-file", optional_argument, nullptr, kLogFile},
    {"syslog-method", required_argument, nullptr, kIgnoredArgument},
    {"syslog-target", required_argument, nullptr, kIgnoredArgument},
};

absl::StatusOr<OfVersions> ParseVersions(std::string_view text) {
  OfVersions versions = 0;
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find_first_of(", \t", start), text.size());
    const std::string_view word = text.substr(start, end - start);
    start = end + 1;
    if (word.empty()) continue;
    const std::optional<OfVersion> version = ParseOfVersion(word);
    if (!version) return InvalidArgument("Unknown OpenFlow version: \"{}\"", word);
    versions |= VersionBit(*version);
  }
  if (versions == 0) return InvalidArgument("no OpenFlow version in \"{}\", expected OpenFlow10 to OpenFlow15", text);
  return versions;
}

absl::StatusOr<PacketInFormat> ParsePacketInFormat(std::string_view text) {
  if (text == "standard" || text == "openflow10") return PacketInFormat::kStandard;
  if (text == "nxt_packet_in" || text == "nxm") return PacketInFormat::kNxt;
  if (text == "nxt_packet_in2") return PacketInFormat::kNxt2;
  return InvalidArgument("unknown packet-in format `{}'", text);
}

class Parser {
 public:
  explicit Parser(const std::vector<std::string>& arguments) : arguments_(arguments) {}

  absl::StatusOr<CommandLine> Run() {
    if (const char* seconds = std::getenv("OVS_CTL_TIMEOUT")) SLUICE_RETURN_IF_ERROR(SetTimeout(seconds));
    std::vector<char*> argv = {program_};
    for (std::string& argument : arguments_) argv.push_back(argument.data());
    argv.push_back(nullptr);
    const int argc = static_cast<int>(argv.size()) - 1;
    std::vector<option> longs(std::begin(kOptions), std::end(kOptions));
    longs.insert(longs.end(), kTlsLongOptions.begin(), kTlsLongOptions.end());
    longs.push_back({});
    const std::string shorts = ":t:F:P:O:mhVv::" + std::string(kTlsShortOptions);
    optind = 0;  // starts anew
    opterr = 0;
    int choice;
    while (!line_.answer && (choice = getopt_long(argc, argv.data(), shorts.c_str(), longs.data(), nullptr)) != -1) {
      SLUICE_RETURN_IF_ERROR(Take(choice, argv[static_cast<size_t>(optind) - 1]));
    }
    line_.words.assign(argv.begin() + optind, argv.begin() + argc);
    SLUICE_RETURN_IF_ERROR(Settle());
    return std::move(line_);
  }

 private:
  absl::Status Take(int choice, const std::string& word) {
    Options& options = line_.options;
    const std::string value = optarg == nullptr ? "" : optarg;
    if (TakeTlsOption(choice, optarg, &options.tls)) return absl::OkStatus();
    switch (choice) {
      case 't':
        return SetTimeout(value);
      case 'F': {
        auto formats = ParseFormats(value);
        if (formats.ok()) options.formats = *formats;
        return formats.status();
      }
      case 'P': {
        auto format = ParsePacketInFormat(value);
        if (format.ok()) options.packet_in_format = *format;
        return format.status();
      }
      case 'O': {
        auto versions = ParseVersions(value);
        if (versions.ok()) options.versions = *versions;
        versions_given_ = true;
        return versions.status();
      }
      case 'm':
        ++options.verbosity;
        break;
      case 'h':
        line_.answer = HelpText();
        break;
      case 'V':
        line_.answer = VersionText();
        break;
      case 'v':
        return LogSetLevels(value.empty() ? "any:any:dbg" : value);
      case kLogFile:
        return LogSetFile(value.empty() ? LogDir() + "/ofctl.log" : value);
      case kSort:
      case kRsort:
        return AddSortKey(value, choice == kRsort);
      case kColor:
        return CheckColor(value);
      case '?':
        return Unrecognized(word);
      case ':':
        return InvalidArgument("option '{}' requires an argument", word);
      default:
        SetFlag(choice, value);
    }
    return absl::OkStatus();
  }

  void SetFlag(int choice, const std::string& value) {
    Options& options = line_.options;
    switch (choice) {
      case kStrict:
        options.strict = true;
        break;
      case kReadOnly:
        options.read_only = true;
        break;
      case kReadd:
        options.readd = true;
        break;
      case kTimestamp:
        options.timestamp = true;
        break;
      case kUnixctl:
        options.unixctl = value;
        break;
      case kBundle:
        options.bundle = true;
        break;
      case kMayCreate:
        options.may_create = true;
        break;
      case kNames:
      case kNoNames:
        options.names = choice == kNames;
        break;
      case kStats:
      case kNoStats:
        options.stats = choice == kStats;
        break;
      default:
        break;
    }
  }

  absl::Status SetTimeout(const std::string& text) {
    uint32_t seconds = 0;
    if (!absl::SimpleAtoi(text, &seconds) || seconds == 0) {
      return InvalidArgument("value {} on -t or --timeout is invalid", text);
    }
    line_.options.timeout_seconds = seconds;
    return absl::OkStatus();
  }

  absl::Status AddSortKey(const std::string& name, bool descending) {
    SortKey key{.field = nullptr, .descending = descending};
    if (!name.empty() && name != "priority") {
      key.field = FindField(name);
      if (key.field == nullptr) return InvalidArgument("{}: unknown field name", name);
    }
    line_.options.sort.push_back(key);
    return absl::OkStatus();
  }

  // Output is never coloured: what may be asked for is checked all the same.
  static absl::Status CheckColor(const std::string& value) {
    for (const char* word : {"", "yes", "always", "force", "no", "never", "none", "auto", "tty", "if-tty"}) {
      if (value == word) return absl::OkStatus();
    }
    return InvalidArgument("incorrect value `{}' for --color", value);
  }

  static absl::Status Unrecognized(const std::string& word) {
    if (!word.starts_with("--")) return InvalidArgument("invalid option -- '{}'", static_cast<char>(optopt));
    const std::string name = word.substr(0, word.find('='));
    if (optopt != 0) return InvalidArgument("option '{}' doesn't allow an argument", name);
    return InvalidArgument("unrecognized option '{}'", name);
  }

  // Brings versions and formats together.
  absl::Status Settle() {
    Options& options = line_.options;
    if (options.bundle || (!line_.words.empty() && line_.words[0] == "bundle")) {
      constexpr OfVersions kWithBundles = VersionBit(OfVersion::k14) | VersionBit(OfVersion::k15);
      options.versions = (versions_given_ ? options.versions & kWithBundles : 0);
      if (options.versions == 0) options.versions = VersionBit(OfVersion::k14);
    }
    const uint32_t asked = options.formats;
    options.formats &= FormatsOf(options.versions);
    if (options.formats != 0) return absl::OkStatus();
    return InvalidArgument(
        "None of the enabled OpenFlow versions ({}) supports any of the enabled flow formats ({}).  (Use -O to enable "
        "additional OpenFlow versions or -F to enable additional flow formats.)",
        VersionNames(options.versions), FormatNames(asked));
  }

  char program_[6] = "ofctl";
  std::vector<std::string> arguments_;
  bool versions_given_ = false;
  CommandLine line_;
};

}  // namespace

bool Options::show_names() const { return names.value_or(isatty(STDOUT_FILENO) != 0); }

absl::StatusOr<CommandLine> ParseCommandLine(const std::vector<std::string>& arguments) {
  return Parser(arguments).Run();
}

}  // namespace sluice::ofctl
