#include "vswitchd/options.h"

#include <getopt.h>

#include <filesystem>

#include "lib/io/daemon.h"

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
    {"help", no_argument, nullptr, 'h'},
    {"version", no_argument, nullptr, 'V'},
    {nullptr, 0, nullptr, 0},
};

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

}  // namespace

absl::StatusOr<Options> ParseOptions(int argc, char** argv) {
  Options options;
  opterr = 0;
  optind = 0;  // glibc: start afresh, also in the middle of a bundle of short options
  int choice;
  while ((choice = getopt_long(argc, argv, ":v::hV", kLongOptions, nullptr)) != -1) {
    switch (choice) {
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
  if (optind < argc) {
    return InvalidArgument(
        "argument \"{}\": none is expected; the switch is configured through its control socket, not by a database "
        "(use --help for help)",
        argv[optind]);
  }
  return options;
}

std::string HelpText() {
  return fmt::format(
      "vswitchd: Sluice, a userspace switch\n"
      "usage: vswitchd [OPTIONS]\n"
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
      "The directories come from OVS_RUNDIR and OVS_LOGDIR.\n",
      RunDir(), LogDir());
}

}  // namespace sluice
