#include "tests/lib/ovsdb/ovsdb_tool.h"

#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "tests/lib/ovsdb/test_database.h"

namespace sluice {

void WriteFile(const std::string& path, std::string_view data) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << data;
}

std::string ReadFile(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::string OvsdbTool(std::initializer_list<std::string> arguments) {
  std::vector<std::string> words = {"ovsdb-tool"};
  words.insert(words.end(), arguments);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  int ends[2];
  if (pipe(ends) != 0) std::abort();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  pid_t pid = 0;
  int error = posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string output;
  char buffer[4096];
  for (ssize_t got; error == 0 && (got = read(ends[0], buffer, sizeof buffer)) > 0;) {
    output.append(buffer, static_cast<size_t>(got));
  }
  close(ends[0]);
  int status = 0;
  if (error == 0) waitpid(pid, &status, 0);
  if (error != 0 || status != 0) {
    output += fmt::format("exit {}", error != 0 ? 127 : WIFEXITED(status) ? WEXITSTATUS(status) : -1);
  }
  return output;
}

Json ToolDump(const std::string& path, std::string_view schema_text) {
  DatabaseSchema schema = SchemaOf(schema_text);
  Json query = Json::array({schema.name});
  for (const auto& [name, table] : schema.tables) {
    Json columns = Json::array({"_uuid"});
    for (const ColumnSchema& column : table.columns) columns.push_back(column.name);
    query.push_back({{"op", "select"}, {"table", name}, {"where", Json::array()}, {"columns", columns}});
  }
  std::string text = OvsdbTool({"query", path, DumpJson(query)});
  Json results = J(text);
  Json dump = Json::object();
  size_t i = 0;
  for (const auto& [name, table] : schema.tables) {
    dump[name] = Json::object();
    if (!results.is_array() || i >= results.size() || !results[i].contains("rows")) {
      ADD_FAILURE() << text;
      return dump;
    }
    for (Json row : results[i++]["rows"]) {
      std::string uuid = row["_uuid"][1];
      row.erase("_uuid");
      dump[name][uuid] = row;
    }
  }
  return dump;
}

}  // namespace sluice
