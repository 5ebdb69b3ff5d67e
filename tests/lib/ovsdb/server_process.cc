#include "tests/lib/ovsdb/server_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <thread>

namespace sluice {

namespace {

constexpr const char* kSchema = "/usr/share/openvswitch/vswitch.ovsschema";

std::string Run(const std::string& command) {
  std::string output;
  FILE* const pipe = popen((command + " 2>&1").c_str(), "r");
  char buffer[4096];
  for (size_t length; (length = fread(buffer, 1, sizeof(buffer), pipe)) > 0;) {
    output.append(buffer, length);
  }
  EXPECT_EQ(pclose(pipe), 0) << command << "\n" << output;
  return output;
}

}  // namespace

ServerProcess::ServerProcess(std::string folder, Model model) : folder_(std::move(folder)), model_(model) {
  if (model == Model::kClustered) {
    Tool(fmt::format("create-cluster {} {} unix:{}/raft.sock", file(), kSchema, folder_));
  } else {
    Tool(fmt::format("create {} {}", file(), kSchema));
  }
}

ServerProcess::~ServerProcess() { Kill(); }

void ServerProcess::Start(const std::vector<std::string>& more_arguments) {
  std::vector<std::string> arguments = {"/usr/sbin/ovsdb-server", file(), "--remote=p" + remote(),
                                        fmt::format("--unixctl={}/ctl", folder_), "-vconsole:off"};
  if (model_ == Model::kSluice) {
    arguments = {std::filesystem::read_symlink("/proc/self/exe").replace_filename("serve_database"), file(),
                 "p" + remote()};
  }
  arguments.insert(arguments.end(), more_arguments.begin(), more_arguments.end());
  std::vector<char*> argv;
  for (std::string& argument : arguments) {
    argv.push_back(argument.data());
  }
  argv.push_back(nullptr);
  pid_ = fork();
  ASSERT_GE(pid_, 0);
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int null = open("/dev/null", O_WRONLY);
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    execv(argv[0], argv.data());
    _exit(127);
  }
  for (int i = 0; i < 500; ++i) {
    const std::string ready = fmt::format("ovsdb-client --timeout=1 wait {} Open_vSwitch connected", remote());
    if (access((folder_ + "/db.sock").c_str(), F_OK) == 0 && std::system((ready + " >/dev/null 2>&1").c_str()) == 0) {
      return;
    }
    ASSERT_EQ(waitpid(pid_, nullptr, WNOHANG), 0) << "ovsdb-server did not start";
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  FAIL() << "ovsdb-server does not serve";
}

void ServerProcess::Kill() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    unlink((folder_ + "/db.sock").c_str());
  }
  pid_ = -1;
}

void ServerProcess::Signal(int signal) const { kill(pid_, signal); }

void ServerProcess::DropConnections() {
  if (model_ == Model::kSluice) {
    Kill();
    Start();
  } else {
    Appctl("ovsdb-server/reconnect");
  }
}

std::string ServerProcess::Vsctl(const std::string& arguments) const {
  return Run(fmt::format("ovs-vsctl --timeout=10 --no-wait --db={} {}", remote(), arguments));
}
std::string ServerProcess::Appctl(const std::string& arguments) const {
  return Run(fmt::format("ovs-appctl --timeout=10 --target={}/ctl {}", folder_, arguments));
}
std::string ServerProcess::Tool(const std::string& arguments) const { return Run("ovsdb-tool " + arguments); }

}  // namespace sluice
