// A client of a database in a loop that is run until something holds.
#pragma once

#include <optional>

#include "lib/ovsdb/client.h"
#include "tests/lib/io/stream_fixture.h"

namespace sluice {

class ClientFixture : public StreamFixture {
 protected:
  using State = OvsdbClient::State;

  // A client with what it called back.
  struct Watched {
    Watched(EventLoop& loop, OvsdbClientOptions options)
        : client(std::make_unique<OvsdbClient>(loop, std::move(options))) {
      client->OnChange([this] { ++changes; });
      client->OnStateChange([this] { states.push_back(client->state()); });
    }
    OvsdbClient* operator->() { return client.get(); }

    std::unique_ptr<OvsdbClient> client;
    int changes = 0;
    std::vector<State> states;
  };

  std::unique_ptr<Watched> MakeClient(OvsdbClientOptions options) {
    return std::make_unique<Watched>(loop_, std::move(options));
  }
  void RunUntilReady(Watched& watched) {
    RunUntil([&] { return watched.client->state() == State::kReady; });
  }

  // Runs the transaction and returns its results.
  absl::StatusOr<Json> Transact(OvsdbClient& client, Json operations) {
    std::optional<absl::StatusOr<Json>> results;
    client.Transact(std::move(operations), [&](absl::StatusOr<Json> answer) { results = std::move(answer); });
    EXPECT_FALSE(results.has_value()) << "called back from inside Transact";
    RunUntil([&] { return results.has_value(); });
    return results.has_value() ? *std::move(results) : InvalidArgument("no answer");
  }
  absl::Status Commit(OvsdbClient& client, const TransactionBuilder& builder) {
    const auto results = Transact(client, builder.Build());
    return results.ok() ? TransactionError(*results) : results.status();
  }

  // The row whose column `name` is `name`.
  static const Row* FindByName(const OvsdbClient& client, std::string_view table, std::string_view name) {
    for (const auto& [uuid, row] : client.rows(table)) {
      if (client.Get(table, *row, "name").StringOr("") == name) return row.get();
    }
    return nullptr;
  }
  static const Row* OnlyRow(const OvsdbClient& client, std::string_view table) {
    EXPECT_EQ(client.rows(table).size(), 1u);
    return client.rows(table).empty() ? nullptr : client.rows(table).begin()->second.get();
  }

  static Datum Strings(std::vector<std::string> keys, std::vector<std::string> values = {}) {
    Datum datum;
    for (std::string& key : keys) datum.keys.emplace_back(std::move(key));
    for (std::string& value : values) datum.values.emplace_back(std::move(value));
    datum.Normalize(!values.empty());
    return datum;
  }
};

}  // namespace sluice
