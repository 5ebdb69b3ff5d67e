// Keys of other_config columns that mean something (ovs-vswitchd.conf.db(5)). Any key may be stored there, so a
// mistyped one is no error; but it does nothing, and whoever typed it should know.
#pragma once

#include <string>
#include <string_view>

namespace sluice::vsctl {

// A warning if `key` is not known but nearly so; "" otherwise.
std::string WarningOfKey(std::string_view column, std::string_view key);

}  // namespace sluice::vsctl
