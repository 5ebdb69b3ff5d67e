// Serves one database file alone, for tests that want an OVSDB server without a switch. Not installed.
//
//   serve_database [--schema=FILE] [--private-key=FILE --certificate=FILE --ca-cert=FILE] DATABASE-FILE REMOTE...
//
// Creates the file where there is none. Prints "serving" once the remotes are set; ends at SIGTERM.
#include <csignal>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "lib/io/event_loop.h"
#include "lib/ovsdb/json.h"
#include "lib/ovsdb/server.h"

namespace sluice {
namespace {

struct Arguments {
  std::map<std::string, std::string> options;
  std::vector<std::string> words;

  Arguments(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
      const std::string word = argv[i];
      const size_t equals = word.find('=');
      if (word.starts_with("--") && equals != std::string::npos) {
        options[word.substr(2, equals - 2)] = word.substr(equals + 1);
      } else {
        words.push_back(word);
      }
    }
  }
};

absl::StatusOr<DatabaseSchema> ReadSchema(const std::string& path) {
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const absl::StatusOr<Json> json = ParseJson(text);
  if (!json.ok()) return json.status();
  return DatabaseSchema::Parse(*json);
}

absl::Status Serve(Arguments& arguments) {
  if (arguments.words.size() < 2) return InvalidArgument("usage: serve_database [OPTION]... DATABASE-FILE REMOTE...");
  const auto schema_file = arguments.options.find("schema");
  const absl::StatusOr<DatabaseSchema> schema =
      schema_file == arguments.options.end() ? VswitchSchema() : ReadSchema(schema_file->second);
  if (!schema.ok()) return schema.status();
  absl::StatusOr<LogFile::Opened> opened = LogFile::Open(arguments.words[0], *schema);
  if (!opened.ok()) return opened.status();
  if (!opened->repaired.empty()) fprintf(stderr, "%s\n", opened->repaired.c_str());

  EventLoop loop;
  OvsdbServer server(loop);
  TlsConfig tls;
  tls.private_key = arguments.options["private-key"];
  tls.certificate = arguments.options["certificate"];
  tls.ca_cert = arguments.options["ca-cert"];
  server.SetTls(tls);
  SLUICE_RETURN_IF_ERROR(server.AddDatabase(std::move(opened->database), std::move(opened->file)));
  arguments.words.erase(arguments.words.begin());
  SLUICE_RETURN_IF_ERROR(server.SetRemotes(arguments.words));
  const EventLoop::Handle signals = loop.OnSignals({SIGTERM, SIGINT}, [&](int) { loop.Stop(); });
  puts("serving");
  fflush(stdout);
  loop.Run();
  return absl::OkStatus();
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  sluice::Arguments arguments(argc, argv);
  const absl::Status status = sluice::Serve(arguments);
  if (status.ok()) return 0;
  fprintf(stderr, "serve_database: %s\n", sluice::Message(status).c_str());
  return 1;
}
