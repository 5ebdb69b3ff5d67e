// Random transactions on the test schema, most of them sensible: for comparing databases.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "lib/ovsdb/json.h"

namespace sluice {

class RandomTransactions {
 public:
  explicit RandomTransactions(uint64_t seed) : random_(seed) {}

  // An array of operations. Rows that it inserts have UUIDs of its choice, so that two databases agree about them.
  Json Next();

 private:
  size_t Below(size_t limit) { return std::uniform_int_distribution<size_t>(0, limit - 1)(random_); }
  bool OneIn(size_t n) { return Below(n) == 0; }
  template <typename T>
  const T& Pick(const std::vector<T>& from) {
    return from[Below(from.size())];
  }

  Json Operation();
  Json Insert(const std::string& table);
  Json Update(const std::string& table);
  Json Mutate(const std::string& table);
  Json MutationOf(const std::string& column);
  Json Where(const std::string& table);
  Json Row(const std::string& table, bool all_mutable);
  Json Value(const std::string& column);
  Json UuidOf(const std::string& table);
  Json Set(size_t max, Json (RandomTransactions::*make)());
  Json SmallInteger();
  Json KidUuid() { return UuidOf("kid"); }
  Json KidName();

  std::mt19937_64 random_;
};

}  // namespace sluice
