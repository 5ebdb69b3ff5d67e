#include "lib/ovsdb/log_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "lib/ovsdb/database_file.h"
#include "lib/ovsdb/log_record.h"
#include "lib/ovsdb/log_transaction.h"
#include "lib/ovsdb/schema_conversion.h"

namespace sluice {
namespace {

constexpr uint64_t kMinCompacted = 10 << 20;  // bytes
constexpr uint64_t kGrowth = 4;

int64_t NowMs() {
  auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

// The schema and one record with all rows.
std::string Snapshot(const Database& database, const std::string& comment) {
  std::string data = EncodeLogRecord(database.schema().ToJson());
  ChangeSet rows;
  for (const auto& [name, table] : database.schema().tables) {
    for (const auto& [uuid, row] : database.rows(name)) rows.push_back({&table, nullptr, row});
  }
  Json record = ChangesToLog(rows, comment, NowMs());
  if (!record.is_null()) data += EncodeLogRecord(record);
  return data;
}

struct Replayed {
  std::unique_ptr<Database> database;
  uint64_t size = 0;       // bytes of the records that are whole
  uint64_t base_size = 0;  // of those a compaction would have left: the schema and the first transaction
  std::string repaired;
};

absl::StatusOr<std::unique_ptr<Database>> DatabaseFromFirstRecord(std::string_view data, const std::string& path,
                                                                  size_t* size) {
  if (data.starts_with("OVSDB CLUSTER")) {
    return InvalidArgument("{}: is a clustered database, which is not supported here; run ovsdb-server for it", path);
  }
  absl::StatusOr<LogRecord> record = DecodeLogRecord(data);
  if (!record.ok()) {
    return InvalidArgument("{}: is not an OVSDB database: its first record: {}", path, Message(record.status()));
  }
  absl::StatusOr<DatabaseSchema> schema = DatabaseSchema::Parse(record->json);
  if (!schema.ok()) return InvalidArgument("{}: bad schema: {}", path, Message(schema.status()));
  *size = record->size;
  return std::make_unique<Database>(*std::move(schema));
}

absl::StatusOr<Replayed> ReplayFile(std::string_view data, const std::string& path) {
  Replayed replayed;
  size_t at = 0;
  absl::StatusOr<std::unique_ptr<Database>> database = DatabaseFromFirstRecord(data, path, &at);
  if (!database.ok()) return database.status();
  replayed.database = *std::move(database);
  replayed.base_size = at;
  for (size_t number = 1; at < data.size(); ++number) {
    absl::StatusOr<LogRecord> record = DecodeLogRecord(data.substr(at));
    if (!record.ok()) {
      replayed.repaired = fmt::format("{}: record {} at offset {} is damaged ({}); cut off the last {} bytes", path,
                                      number, at, Message(record.status()), data.size() - at);
      break;
    }
    // Its sum is right, so nothing was torn: not to be thrown away for being beyond us.
    absl::StatusOr<ChangeSet> changes = ChangesFromLog(record->json, *replayed.database);
    absl::Status status = changes.ok() ? replayed.database->Replay(*changes) : changes.status();
    if (!status.ok()) {
      return InvalidArgument("{}: cannot apply record {} at offset {}: {}", path, number, at, Message(status));
    }
    at += record->size;
    if (number == 1) replayed.base_size = at;
  }
  replayed.size = at;
  return replayed;
}

}  // namespace

struct LogFile::Impl {
  std::string path;  // without symbolic links
  FileDescriptor lock;
  FileDescriptor file;
  uint64_t size = 0;       // bytes of whole records: where the next one begins
  uint64_t base_size = 0;  // when it was last rewritten

  absl::Status Create(const DatabaseSchema& schema, Opened& opened);
  absl::Status Read(const DatabaseSchema& schema, Opened& opened);
  absl::Status CutTo(uint64_t end);
  absl::Status DropDangling(Opened& opened);
  absl::Status Rewrite(const Database& database, const std::string& comment);
};

absl::Status LogFile::Impl::Rewrite(const Database& database, const std::string& comment) {
  std::string data = Snapshot(database, comment);
  int old_file = file.get();
  absl::Status status = ReplaceFile(path, data, file);
  if (file.get() != old_file) size = base_size = data.size();
  return status;
}

absl::Status LogFile::Impl::Create(const DatabaseSchema& schema, Opened& opened) {
  opened.database = std::make_unique<Database>(schema);
  return Rewrite(*opened.database, "");
}

absl::Status LogFile::Impl::CutTo(uint64_t end) {
  if (ftruncate(file.get(), static_cast<off_t>(end)) == 0 && fdatasync(file.get()) == 0) return absl::OkStatus();
  return ErrnoStatus(errno, fmt::format("{}: cannot cut off a damaged record", path));
}

absl::Status LogFile::Impl::DropDangling(Opened& opened) {
  absl::StatusOr<size_t> rows = DropDanglingReferences(*opened.database);
  if (!rows.ok()) return InvalidArgument("{}: cannot remove dangling references: {}", path, Message(rows.status()));
  if (*rows == 0) return absl::OkStatus();
  if (!opened.repaired.empty()) opened.repaired += "; ";
  opened.repaired += fmt::format("{}: removed references to rows that are not there from {} row(s)", path, *rows);
  // Differences to come are against what is in memory.
  return Rewrite(*opened.database, "references to rows that are not there removed");
}

absl::Status LogFile::Impl::Read(const DatabaseSchema& schema, Opened& opened) {
  absl::StatusOr<std::string> data = ReadWhole(file.get(), path);
  if (!data.ok()) return data.status();
  absl::StatusOr<Replayed> replayed = ReplayFile(*data, path);
  if (!replayed.ok()) return replayed.status();
  const DatabaseSchema& found = replayed->database->schema();
  if (found.name != schema.name) {
    return InvalidArgument("{}: is database {}, not {}", path, found.name, schema.name);
  }
  if (!replayed->repaired.empty()) SLUICE_RETURN_IF_ERROR(CutTo(replayed->size));
  size = replayed->size;
  base_size = replayed->base_size;
  opened.repaired = replayed->repaired;
  opened.database = std::move(replayed->database);
  SLUICE_RETURN_IF_ERROR(DropDangling(opened));
  if (!IsOlderVersion(opened.database->schema().version, schema.version)) return absl::OkStatus();

  std::string old_version = opened.database->schema().version;
  absl::StatusOr<std::unique_ptr<Database>> converted = ConvertDatabase(*opened.database, schema);
  if (!converted.ok()) {
    return InvalidArgument("{}: cannot convert from schema version \"{}\" to {}: {}", path, old_version, schema.version,
                           Message(converted.status()));
  }
  opened.database = *std::move(converted);
  opened.converted = fmt::format("{}: converted from schema version \"{}\" to {}", path, old_version, schema.version);
  return Rewrite(*opened.database, "converted by the switch");
}

LogFile::LogFile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

LogFile::~LogFile() = default;

absl::StatusOr<LogFile::Opened> LogFile::Open(const std::string& path, const DatabaseSchema& schema) {
  auto impl = std::make_unique<Impl>();
  impl->path = ResolvePath(path);
  absl::StatusOr<FileDescriptor> lock = LockDatabaseFile(impl->path);
  if (!lock.ok()) return lock.status();
  impl->lock = *std::move(lock);

  Opened opened;
  impl->file = FileDescriptor(open(impl->path.c_str(), O_RDWR | O_CLOEXEC));
  if (!impl->file.valid() && errno == ENOENT) {
    SLUICE_RETURN_IF_ERROR(impl->Create(schema, opened));
  } else if (!impl->file.valid()) {
    return ErrnoStatus(errno, fmt::format("{}: cannot open database", impl->path));
  } else {
    SLUICE_RETURN_IF_ERROR(impl->Read(schema, opened));
  }
  opened.file.reset(new LogFile(std::move(impl)));
  return opened;
}

absl::Status LogFile::Append(const ChangeSet& changes, const std::string& comment, bool durable) {
  Json record = ChangesToLog(changes, comment, NowMs());
  if (record.is_null()) return absl::OkStatus();
  std::string data = EncodeLogRecord(record);
  SLUICE_RETURN_IF_ERROR(AppendAt(impl_->file.get(), impl_->path, impl_->size, data, durable));
  impl_->size += data.size();
  return absl::OkStatus();
}

bool LogFile::ShouldCompact() const { return impl_->size > kMinCompacted && impl_->size / kGrowth > impl_->base_size; }

absl::Status LogFile::Compact(const Database& database) { return impl_->Rewrite(database, "compacted by the switch"); }

const std::string& LogFile::path() const { return impl_->path; }

}  // namespace sluice
