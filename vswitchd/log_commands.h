// The vlog, coverage and memory commands.
#pragma once

#include "lib/io/unixctl.h"

namespace sluice {

void RegisterLogCommands(UnixctlServer& server);

}  // namespace sluice
