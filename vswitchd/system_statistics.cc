#include "vswitchd/system_statistics.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <sstream>
#include <vector>

namespace sluice {
namespace {

// The figures of /proc/meminfo, in KiB.
std::map<std::string, uint64_t> ReadMemInfo() {
  std::map<std::string, uint64_t> values;
  std::ifstream file("/proc/meminfo");
  std::string name;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    uint64_t value;
    if (words >> name >> value) values[name.substr(0, name.find(':'))] = value;
  }
  return values;
}

// total_ram,total_used,ram_cache_buffers,total_swap,swap_used
std::string MemoryText() {
  std::map<std::string, uint64_t> info = ReadMemInfo();
  if (info["MemTotal"] == 0) return "";
  uint64_t cached = info["Buffers"] + info["Cached"];
  return fmt::format("{},{},{},{},{}", info["MemTotal"], info["MemTotal"] - info["MemFree"] - cached, cached,
                     info["SwapTotal"], info["SwapTotal"] - info["SwapFree"]);
}

// virtual size, resident size (KiB), CPU ms, times restarted by the monitor, ms since start, ms up.
std::string ProcessText() {
  std::ifstream statm("/proc/self/statm");
  uint64_t pages = 0;
  uint64_t resident = 0;
  if (!(statm >> pages >> resident)) return "";
  uint64_t page_kib = static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) / 1024;
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  auto milliseconds = [](const timeval& t) { return static_cast<uint64_t>(t.tv_sec) * 1000 + t.tv_usec / 1000; };
  static const auto started = std::time(nullptr);
  uint64_t up = static_cast<uint64_t>(std::time(nullptr) - started) * 1000;
  return fmt::format("{},{},{},0,{},{}", pages * page_kib, resident * page_kib,
                     milliseconds(usage.ru_utime) + milliseconds(usage.ru_stime), up, up);
}

// mount point,total KiB,used KiB for each that is backed by a block device.
std::string FileSystemsText() {
  std::ifstream mounts("/proc/mounts");
  std::string text;
  std::map<std::string, bool> seen;
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::string device;
    std::string point;
    words >> device >> point;
    struct statvfs facts;
    if (!device.starts_with("/dev/") || seen[device] || statvfs(point.c_str(), &facts) != 0) continue;
    seen[device] = true;
    uint64_t unit = facts.f_frsize;
    text += fmt::format("{}{},{},{}", text.empty() ? "" : " ", point, facts.f_blocks * unit / 1024,
                        (facts.f_blocks - facts.f_bfree) * unit / 1024);
  }
  return text;
}

}  // namespace

std::map<std::string, std::string> ReadSystemStatistics() {
  std::map<std::string, std::string> values;
  values["cpu"] = fmt::format("{}", sysconf(_SC_NPROCESSORS_ONLN));
  double load[3];
  if (getloadavg(load, 3) == 3) values["load_average"] = fmt::format("{:.2f},{:.2f},{:.2f}", load[0], load[1], load[2]);
  auto add = [&values](const char* key, std::string text) {
    if (!text.empty()) values[key] = std::move(text);
  };
  add("memory", MemoryText());
  add("process_ovs-vswitchd", ProcessText());
  add("file_systems", FileSystemsText());
  return values;
}

std::map<std::string, std::string> ReadKeyValueFile(const std::string& path) {
  std::map<std::string, std::string> values;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    size_t equals = line.find('=');
    if (equals == std::string::npos || line.starts_with('#')) continue;
    std::string value = line.substr(equals + 1);
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"') value = value.substr(1, value.size() - 2);
    values[line.substr(0, equals)] = value;
  }
  return values;
}

}  // namespace sluice
