#include "lib/ovsdb/table_state.h"

#include <cstring>

namespace sluice {
namespace {

void AppendBytes(std::string& key, const void* bytes, size_t size) {
  key.append(static_cast<const char*>(bytes), size);
}

void AppendAtom(std::string& key, const Atom& atom) {
  switch (TypeOf(atom)) {
    case AtomType::kInteger:
      AppendBytes(key, &std::get<int64_t>(atom), sizeof(int64_t));
      break;
    case AtomType::kReal: {
      double real = std::get<double>(atom) + 0.0;  // -0 and 0 are equal
      AppendBytes(key, &real, sizeof real);
      break;
    }
    case AtomType::kBoolean:
      key += std::get<bool>(atom) ? '\1' : '\0';
      break;
    case AtomType::kString: {
      const std::string& text = std::get<std::string>(atom);
      uint32_t size = static_cast<uint32_t>(text.size());
      AppendBytes(key, &size, sizeof size);
      key += text;
      break;
    }
    case AtomType::kUuid:
      AppendBytes(key, std::get<Uuid>(atom).bytes.data(), 16);
      break;
  }
}

void AppendDatum(std::string& key, const Datum& datum) {
  uint32_t size = static_cast<uint32_t>(datum.size());
  AppendBytes(key, &size, sizeof size);
  for (const Atom& atom : datum.keys) AppendAtom(key, atom);
  for (const Atom& atom : datum.values) AppendAtom(key, atom);
}

}  // namespace

std::string IndexKey(const Index& index, const Row& row) {
  std::string key;
  for (size_t column : index.columns) AppendDatum(key, row.columns[column]);
  return key;
}

void TableState::ApplyStrongReferences(const Row* old_row, const Row* new_row) {
  for (const ReferenceColumn& reference : references) {
    if (SameColumn(reference.column, old_row, new_row)) continue;
    if (new_row != nullptr) {
      VisitReferences(*this, reference, *new_row, true,
                      [](TableState& target, const Uuid& uuid) { ++target.strong_references[uuid]; });
    }
    if (old_row != nullptr) {
      VisitReferences(*this, reference, *old_row, true, [](TableState& target, const Uuid& uuid) {
        auto found = target.strong_references.find(uuid);
        if (--found->second == 0) target.strong_references.erase(found);
      });
    }
  }
}

void TableState::ApplyWeakReferences(const Row* old_row, const Row* new_row) {
  bool same = true;
  for (const ReferenceColumn& reference : references) {
    if (reference.has_weak()) same = same && SameColumn(reference.column, old_row, new_row);
  }
  // All columns or none: one entry stands for the references in all of them.
  if (same) return;
  for (const ReferenceColumn& reference : references) {
    if (old_row == nullptr) break;
    VisitReferences(*this, reference, *old_row, false, [&](TableState& target, const Uuid& uuid) {
      auto found = target.weak_sources.find(uuid);
      if (found == target.weak_sources.end()) return;  // a second reference of the same row
      found->second.erase({this, old_row->uuid});
      if (found->second.empty()) target.weak_sources.erase(found);
    });
  }
  for (const ReferenceColumn& reference : references) {
    if (new_row == nullptr) break;
    VisitReferences(*this, reference, *new_row, false, [&](TableState& target, const Uuid& uuid) {
      target.weak_sources[uuid].insert({this, new_row->uuid});
    });
  }
}

void TableState::ApplyIndexes(const Row* old_row, const Row* new_row) {
  for (Index& index : indexes) {
    if (old_row != nullptr) {
      // Another row of the same transaction may have taken the value over already.
      auto found = index.rows.find(IndexKey(index, *old_row));
      if (found != index.rows.end() && found->second == old_row->uuid) index.rows.erase(found);
    }
    if (new_row != nullptr) index.rows[IndexKey(index, *new_row)] = new_row->uuid;
  }
}

void TableState::Apply(const RowChange& change) {
  const Row* old_row = change.old_row.get();
  const Row* new_row = change.new_row.get();
  ApplyStrongReferences(old_row, new_row);
  ApplyWeakReferences(old_row, new_row);
  ApplyIndexes(old_row, new_row);
  if (new_row != nullptr) {
    rows[new_row->uuid] = change.new_row;
  } else {
    rows.erase(old_row->uuid);
  }
}

}  // namespace sluice
