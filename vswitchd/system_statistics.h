// Facts about the system for Open_vSwitch:statistics (ovs-vswitchd.conf.db(5), "Statistics"), read from /proc.
#pragma once

#include <map>
#include <string>

namespace sluice {

// cpu, load_average, memory, process_ovs-vswitchd, file_systems. What cannot be read is left out.
std::map<std::string, std::string> ReadSystemStatistics();

// KEY=VALUE lines, values without their quotes; empty if the file cannot be read.
std::map<std::string, std::string> ReadKeyValueFile(const std::string& path);

}  // namespace sluice
