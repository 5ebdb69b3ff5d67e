#include "vswitchd/options.h"

#include <getopt.h>

#include <filesystem>

#include "lib/io/daemon.h"
#include "lib/io/tls_options.h"

namespace sluice {

namespace {

enum LongOption : int {
  kPidFile = 256,
  kOverwritePidFile,
  kDetach,
  kMonitor,
  kNoChdir,
  kLogFile,
  kUnixctl,
  kMlockall,
  kNoSelfConfinement,
  kUser,
  kRemote,
  kDatabaseFile,
};

constexpr option kLongOptions[] = {
    {"pidfile", optional_argument, nullptr, kPidFile},
    {"overwrite-pidfile", no_argument, nullptr, kOverwritePidFile},
    {"detach", no_argument, nullptr, kDetach},
    {"monitor", no_argument, nullptr, kMonitor},
    {"no-chdir", no_argument, nullptr, kNoChdir},
    {"log-file", optional_argument, nullptr, kLogFile},
    {"verbose", optional_argument, nullptr, 'v'},
    {"unixctl", required_argument, nullptr, kUnixctl},
    {"mlockall", no_argument, nullptr, kMlockall},
    {"no-self-confinement", no_argument, nullptr, kNoSelfConfinement},
    {"user", required_argument, nullptr, kUser},
    {"remote", required_argument, nullptr, kRemote},
    {"database-file", required_argument, nullptr, kDatabaseFile},
    {"help", no_argument, nullptr, 'h'},
    {"version", no_argument, nullptr, 'V'},
};

// With those of TLS, as getopt_long wants them.
std::vector<option> AllLongOptions() {
  std::vector<option> all(std::begin(kLongOptions), std::end(kLongOptions));
  all.insert(all.end(), kTlsLongOptions.begin(), kTlsLongOptions.end());
  all.push_back({nullptr, 0, nullptr, 0});
  return all;
}

// `name` as given, in `directory` if it has no slash, as ovs-vswitchd's options have it. Absolute, because the daemon
// leaves the current directory.
std::string PathIn(const std::string& directory, const std::string& name) {
  if (name.find('/') == std::string::npos) {
    return directory + "/" + name;
  }
  return std::filesystem::absolute(name).lexically_normal().string();
}

std::string OptionalPath(const std::string& directory, const char* given, const char* fallback) {
  return PathIn(directory, given != nullptr ? given : fallback);
}

// The daemon leaves the current directory.
void MakeAbsolute(TlsConfig& tls) {
  for (std::string* file : {&tls.private_key, &tls.certificate, &tls.ca_cert, &tls.peer_ca_cert}) {
    if (!file->empty() && *file != "none") *file = std::filesystem::absolute(*file).lexically_normal().string();
  }
}

// One database: an active remote, or several separated by commas (a cluster's members).
absl::Status TakeDatabase(std::string_view text, Options& options) {
  while (true) {
    size_t comma = text.find(',');
    std::string_view remote = text.substr(0, comma);
    SLUICE_RETURN_IF_ERROR(CheckStreamTarget(remote));
    if (IsPassiveTarget(remote)) {
      return InvalidArgument(
          "database \"{}\": a server's address is expected, such as unix:FILE, tcp:HOST:PORT or "
          "ssl:HOST:PORT (to serve the embedded database there, use --remote)",
          remote);
    }
    options.database.emplace_back(remote);
    if (comma == std::string_view::npos) return absl::OkStatus();
    text.remove_prefix(comma + 1);
  }
}

absl::Status TakeArguments(int count, char** arguments, Options& options) {
  if (count > 1) {
    return InvalidArgument("argument \"{}\": at most one database is expected (use --help for help)", arguments[1]);
  }
  if (count == 1) SLUICE_RETURN_IF_ERROR(TakeDatabase(arguments[0], options));
  if (!options.database.empty() && !options.remotes.empty()) {
    return InvalidArgument("--remote={}: only the embedded database has remotes, and {} is an external one",
                           options.remotes.front(), arguments[0]);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Options> ParseOptions(int argc, char** argv) {
  Options options;
  options.database_file = PathIn(DbDir(), "conf.db");
  const std::vector<option> long_options = AllLongOptions();
  const std::string short_options = ":v::hV" + std::string(kTlsShortOptions);
  opterr = 0;
  optind = 0;  // glibc: start afresh, also in the middle of a bundle of short options
  int choice;
  while ((choice = getopt_long(argc, argv, short_options.c_str(), long_options.data(), nullptr)) != -1) {
    if (TakeTlsOption(choice, optarg, &options.tls)) continue;
    switch (choice) {
      case kRemote:
        SLUICE_RETURN_IF_ERROR(CheckStreamTarget(optarg));
        options.remotes.emplace_back(optarg);
        break;
      case kDatabaseFile:
        options.database_file = PathIn(DbDir(), optarg);
        break;
      case kPidFile:
        options.pid_file = OptionalPath(RunDir(), optarg, "ovs-vswitchd.pid");
        break;
      case kOverwritePidFile:
        options.overwrite_pid_file = true;
        break;
      case kDetach:
        options.detach = true;
        break;
      case kMonitor:
        options.monitor = true;
        break;
      case kNoChdir:
        options.chdir = false;
        break;
      case kLogFile:
        options.log_file = OptionalPath(LogDir(), optarg, "ovs-vswitchd.log");
        break;
      case 'v':
        options.log_levels.push_back(optarg != nullptr ? optarg : "any:any:dbg");
        break;
      case kUnixctl:
        options.unixctl_path = PathIn(RunDir(), optarg);
        break;
      case kMlockall:
        options.mlockall = true;
        break;
      case kNoSelfConfinement:
        break;  // nothing confines us in the first place
      case kUser:
        return InvalidArgument("--user={}: changing the user is not supported; start vswitchd as that user", optarg);
      case 'h':
        options.action = Options::Action::kShowHelp;
        return options;
      case 'V':
        options.action = Options::Action::kShowVersion;
        return options;
      case ':':
        return InvalidArgument("option '{}' requires an argument (use --help for help)", argv[optind - 1]);
      default:
        if (optopt != 0 && optopt < 256) {
          return InvalidArgument("unrecognized option '-{}' (use --help for help)", static_cast<char>(optopt));
        }
        return InvalidArgument("unrecognized option '{}' (use --help for help)", argv[optind - 1]);
    }
  }
  MakeAbsolute(options.tls);
  SLUICE_RETURN_IF_ERROR(TakeArguments(argc - optind, argv + optind, options));
  return options;
}

std::string HelpText() {
  return fmt::format(
      "vswitchd: Sluice, a userspace switch\n"
      "usage: vswitchd [OPTIONS] [DATABASE]\n"
      "where DATABASE is a running ovsdb-server: unix:FILE, tcp:HOST:PORT or ssl:HOST:PORT, or several of\n"
      "a cluster separated by commas. Without it, the embedded server keeps {2}\n"
      "and serves punix:{0}/db.sock.\n"
      "\n"
      "Database options:\n"
      "  --remote=TARGET         serve the embedded database there too (punix:FILE, ptcp:PORT, pssl:PORT, ...)\n"
      "  --database-file=FILE    keep the embedded database in FILE\n"
      "{3}"
      "\n"
      "Daemon options:\n"
      "  --detach                run in background as daemon\n"
      "  --monitor               creates a process to monitor this daemon\n"
      "  --no-chdir              do not chdir to '/'\n"
      "  --pidfile[=FILE]        create pidfile (default: {0}/ovs-vswitchd.pid)\n"
      "  --overwrite-pidfile     with --pidfile, start even if already running\n"
      "  --mlockall              lock the daemon's memory\n"
      "  --no-self-confinement   accepted; the daemon never confines itself\n"
      "\n"
      "Logging options:\n"
      "  -vSPEC, --verbose=SPEC  set logging levels (MODULE:DESTINATION:LEVEL)\n"
      "  -v, --verbose           set maximum verbosity level\n"
      "  --log-file[=FILE]       enable logging to specified FILE\n"
      "                          (default: {1}/ovs-vswitchd.log)\n"
      "\n"
      "Other options:\n"
      "  --unixctl=SOCKET        override default control socket name\n"
      "  -h, --help              display this help message\n"
      "  -V, --version           display version information\n"
      "\n"
      "The directories come from OVS_RUNDIR, OVS_LOGDIR and OVS_DBDIR.\n",
      RunDir(), LogDir(), DbDir() + "/conf.db", TlsOptionsUsage());
}

}  // namespace sluice
