// The file of a database: OVSDB's log format (ovsdb(5)), which ovsdb-tool and ovsdb-server read and write too.
//
// A record is a line "OVSDB JSON <length> <sha1>\n" (length in bytes of the JSON text with the newline that ends it,
// SHA-1 of that in 40 hex digits) followed by that JSON text. The first record is the schema, each further one a
// transaction: an object of tables to objects of row UUIDs to null (deleted) or to the columns that are new or changed,
// with "_date" (milliseconds since 1970) and "_comment". Records of ovsdb-tool since 2.12 write of sets and maps only
// the difference when "_is_diff" is true. Clustered files ("OVSDB CLUSTER") are refused by name.
//
// One thread. The file is locked (fcntl, "<dir>/.<name>.~lock~" as ovsdb-server does) while it is open. A symbolic link
// is followed: the lock and temporary files are beside the file that it leads to.
#pragma once

#include <memory>
#include <string>

#include "lib/ovsdb/database.h"

namespace sluice {

class LogFile {
 public:
  struct Opened {
    std::unique_ptr<LogFile> file;
    std::unique_ptr<Database> database;
    // What was cut off the end (a torn or damaged last record), and whether weak references to rows that are not there
    // were removed, which ovsdb-server 3.1 leaves: "" or one line for the log.
    std::string repaired;
    // That the file was converted from an older schema: "" or one line for the log.
    std::string converted;
  };

  // Opens `path` and reads it whole; creates it with `schema` where there is none. A file whose schema's version is
  // older than `schema` is converted (missing columns get defaults; the file is rewritten). A damaged record is cut off
  // with everything behind it, and reported; what came before is kept. A file that is locked, not OVSDB's, or not
  // writable is an error that says so; it is left as it is. So is one with a whole record that the schema has no place
  // for.
  static absl::StatusOr<Opened> Open(const std::string& path, const DatabaseSchema& schema);
  ~LogFile();
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;

  // Appends a transaction and makes it durable (fsync) if `durable`; ephemeral columns are left out, and a change of
  // nothing else writes nothing. After an error the file is as it was, and the next Append() tries again.
  absl::Status Append(const ChangeSet& changes, const std::string& comment, bool durable);

  // Whether it has grown enough since it was last rewritten that Compact() is worth while (10 MiB and four times its
  // size then, as ovsdb-server's).
  bool ShouldCompact() const;
  // Rewrites the file as the schema and one record with all rows, beside it, and renames it over the old one. After an
  // error the old one is still in use, unless it was only that the directory could not be flushed to disk.
  absl::Status Compact(const Database& database);

  const std::string& path() const;

 private:
  struct Impl;
  explicit LogFile(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice
