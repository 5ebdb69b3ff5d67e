// Runs of tables that say the same as the table before them: "tables 1...253: ditto".
#pragma once

#include "lib/openflow/messages/text/text.h"

namespace sluice::messages {

class DittoTables {
 public:
  void Add(uint8_t table) {
    if (first_ < 0) first_ = table;
    last_ = table;
  }
  // Writes the run that Add began, if any.
  void Finish(std::string& out);

 private:
  int first_ = -1;
  int last_ = -1;
};

}  // namespace sluice::messages
