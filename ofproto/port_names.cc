#include "ofproto/port_names.h"

#include <map>
#include <memory>

namespace sluice {

OfNames NamesOf(const Topology& topology, std::string_view name) {
  struct Ports {
    std::map<std::string, OfPort, std::less<>> numbers;
    std::map<OfPort, std::string> names;
  };
  auto ports = std::make_shared<Ports>();
  if (const XBridge* bridge = topology.FindBridge(name); bridge != nullptr) {
    for (const auto& [number, port] : bridge->by_ofport) {
      ports->numbers[port->name] = number;
      ports->names[number] = port->name;
    }
  }
  return {.port_name =
              [ports](OfPort port) {
                auto it = ports->names.find(port);
                return it == ports->names.end() ? std::string() : it->second;
              },
          .port_number = [ports](std::string_view text) -> std::optional<OfPort> {
            auto it = ports->numbers.find(text);
            if (it == ports->numbers.end()) return std::nullopt;
            return it->second;
          },
          .table_name = {},
          .table_number = {}};
}

}  // namespace sluice
