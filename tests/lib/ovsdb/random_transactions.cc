#include "tests/lib/ovsdb/random_transactions.h"

#include <set>

namespace sluice {
namespace {

// Few of everything, so that rows meet.
constexpr size_t kUuids = 8;

const std::vector<std::string> kRootColumns = {"name", "kids", "kids", "by_name", "weak", "best", "eph"};
const std::vector<std::string> kKidColumns = {"name", "i",  "r", "b",  "s",    "s2", "e",    "is",
                                              "io",   "rs", "m", "mi", "set2", "u",  "kids", "peers"};

}  // namespace

Json RandomTransactions::SmallInteger() { return static_cast<int64_t>(Below(5)); }

Json RandomTransactions::KidName() { return std::string(1, static_cast<char>('a' + Below(5))); }

Json RandomTransactions::UuidOf(const std::string& table) {
  return Json::array(
      {"uuid", fmt::format("{}0000000-0000-0000-0000-00000000000{}", table == "kid" ? 'a' : 'b', Below(kUuids))});
}

Json RandomTransactions::Set(size_t max, Json (RandomTransactions::*make)()) {
  std::set<Json> elements;
  for (size_t count = Below(max + 1); count > 0; --count) elements.insert((this->*make)());
  Json array = Json::array();
  for (const Json& element : elements) array.push_back(element);
  return Json::array({"set", array});
}

Json RandomTransactions::Value(const std::string& column) {
  auto map = [&](size_t max, Json (RandomTransactions::*key)(), Json (RandomTransactions::*value)()) {
    Json pairs = Json::array();
    const Json keys = Set(max, key);
    for (const Json& element : keys[1]) pairs.push_back(Json::array({element, (this->*value)()}));
    return Json::array({"map", pairs});
  };
  if (OneIn(60)) return Json("nonsense");
  if (column == "name" || column == "s") return KidName();
  if (column == "i") return OneIn(30) ? Json(4097) : SmallInteger();
  if (column == "eph" || column == "imin" || column == "imax") return SmallInteger();
  if (column == "r") return static_cast<double>(Below(8)) * 0.25;
  if (column == "b") return OneIn(2);
  if (column == "s2")
    return OneIn(3) ? Json::array({"set", Json::array()}) : Json(Pick<std::string>({"ab", "abc", "x"}));
  if (column == "e") return Pick<std::string>({"a", "b c", "d", "d", "a", "z"});
  if (column == "is" || column == "io") return Set(column == "io" ? 1 : 3, &RandomTransactions::SmallInteger);
  if (column == "set2") return OneIn(2) ? SmallInteger() : Set(2, &RandomTransactions::SmallInteger);
  if (column == "rs") return Set(4, &RandomTransactions::SmallInteger);
  if (column == "m") return map(4, &RandomTransactions::KidName, &RandomTransactions::KidName);
  if (column == "mi") return map(2, &RandomTransactions::SmallInteger, &RandomTransactions::SmallInteger);
  if (column == "by_name") return map(2, &RandomTransactions::KidName, &RandomTransactions::KidUuid);
  if (column == "best") return Set(1, &RandomTransactions::KidUuid);
  if (column == "u") return UuidOf("kid");
  return Set(3, &RandomTransactions::KidUuid);  // kids, peers, weak
}

Json RandomTransactions::Row(const std::string& table, bool all_mutable) {
  Json row = Json::object();
  for (size_t count = 1 + Below(4); count > 0; --count) {
    const std::string& column = Pick(table == "kid" ? kKidColumns : kRootColumns);
    if (all_mutable && table == "root" && column == "name" && !OneIn(20)) continue;
    row[column] = Value(column);
  }
  return row;
}

Json RandomTransactions::Where(const std::string& table) {
  auto one = [](Json column, Json function, Json value) {
    return Json::array({Json::array({std::move(column), std::move(function), std::move(value)})});
  };
  switch (Below(8)) {
    case 0:
      return Json::array();
    case 1:
      return one("name", Pick<std::string>({"==", "!=", "includes", "excludes"}), KidName());
    case 2:
      if (table != "kid") return one("eph", Pick<std::string>({"<", "<=", ">", ">=", "=="}), SmallInteger());
      return one(Pick<std::string>({"i", "io", "r"}), Pick<std::string>({"<", "<=", ">", ">="}), SmallInteger());
    case 3: {
      std::string column = table == "kid" ? Pick<std::string>({"is", "m", "kids", "s2", "mi"}) : "kids";
      return one(column, Pick<std::string>({"==", "!=", "includes", "excludes"}), Value(column));
    }
    default:
      return one("_uuid", "==", UuidOf(table));
  }
}

Json RandomTransactions::Insert(const std::string& table) {
  Json row = Row(table, false);
  // Most need a name of their own.
  if (table == "kid" && !OneIn(4)) row["name"] = std::string(1, static_cast<char>('a' + Below(20)));
  if (table == "kid" && !OneIn(4)) row["s"] = std::string(1, static_cast<char>('a' + Below(20)));
  return {{"op", "insert"}, {"table", table}, {"uuid", UuidOf(table)[1]}, {"row", row}};
}

Json RandomTransactions::Update(const std::string& table) {
  return {{"op", "update"}, {"table", table}, {"where", Where(table)}, {"row", Row(table, true)}};
}

Json RandomTransactions::MutationOf(const std::string& column) {
  if (column == "i" || column == "r" || column == "is" || column == "io" || column == "eph" || column == "rs") {
    std::string mutator = Pick<std::string>({"+=", "-=", "*=", "/=", "%="});
    if (column == "is" && OneIn(2)) mutator = Pick<std::string>({"insert", "delete"});
    return Json::array({column, mutator, SmallInteger()});
  }
  std::string mutator = Pick<std::string>({"insert", "delete"});
  if (column == "m" && mutator == "delete" && OneIn(2)) {
    return Json::array({column, mutator, Set(3, &RandomTransactions::KidName)});
  }
  return Json::array({column, mutator, Value(column)});
}

Json RandomTransactions::Mutate(const std::string& table) {
  Json mutations = Json::array();
  for (size_t count = 1 + Below(2); count > 0; --count) {
    mutations.push_back(MutationOf(Pick(table == "kid" ? kKidColumns : kRootColumns)));
  }
  return {{"op", "mutate"}, {"table", table}, {"where", Where(table)}, {"mutations", mutations}};
}

Json RandomTransactions::Operation() {
  std::string table = OneIn(3) ? "root" : "kid";
  switch (Below(12)) {
    case 0:
    case 1:
    case 2:
      return Insert(table);
    case 3:
    case 4:
      return Update(table);
    case 5:
    case 6:
      return Mutate(table);
    case 7:
      return {{"op", "delete"}, {"table", table}, {"where", Where(table)}};
    case 8:
      return {{"op", "select"}, {"table", table}, {"where", Where(table)}, {"columns", Json::array({"_uuid", "name"})}};
    case 9:
      return {{"op", "wait"},
              {"table", table},
              {"where", Where(table)},
              {"timeout", 0},
              {"columns", {"name"}},
              {"until", OneIn(4) ? "==" : "!="},
              {"rows", Json::array({{{"name", KidName()}}})}};
    case 10:
      return {{"op", "mutate"},
              {"table", "root"},
              {"where", Json::array()},
              {"mutations", Json::array({Json::array({"kids", "insert", Set(3, &RandomTransactions::KidUuid)})})}};
    default:
      return {{"op", "comment"}, {"comment", "c"}};
  }
}

Json RandomTransactions::Next() {
  Json operations = Json::array();
  // Kids live only as long as something refers to them.
  if (OneIn(2)) {
    Json kid = Insert("kid");
    Json reference = Json::array({"kids", "insert", Json::array({"uuid", kid["uuid"]})});
    operations.push_back(kid);
    operations.push_back(
        {{"op", "mutate"}, {"table", "root"}, {"where", Where("root")}, {"mutations", Json::array({reference})}});
  }
  for (size_t count = 1 + Below(4); count > 0; --count) operations.push_back(Operation());
  return operations;
}

}  // namespace sluice
