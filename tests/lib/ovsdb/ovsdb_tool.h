// Debian's ovsdb-tool as a peer that we did not write, and files for it.
#pragma once

#include <string>
#include <string_view>

#include "lib/ovsdb/json.h"

namespace sluice {

void WriteFile(const std::string& path, std::string_view data);
std::string ReadFile(const std::string& path);

// What `ovsdb-tool <arguments...>` prints, standard error included; a status other than 0 is appended as "exit N".
std::string OvsdbTool(std::initializer_list<std::string> arguments);

// `ovsdb-tool query`'s results for a select of all columns but _version of each table of `schema_text`, in the form
// of Dump().
Json ToolDump(const std::string& path, std::string_view schema_text);

}  // namespace sluice
