// RequestTable: the handler of each kind of message that a switch accepts.
//
// Handlers are grouped by subject, one file each. A handler answers by itself, or returns what is wrong, which makes an
// error message with the offending bytes.
#pragma once

#include <array>
#include <functional>
#include <variant>

#include "ofproto/connections/requests/request.h"

namespace sluice {

class RequestTable {
 public:
  template <typename Body>
  using Handler = OfStatus (*)(OfRequest& request, Body& body);

  // The one table, with all handlers.
  static const RequestTable& Get();

  // Handles it; nullopt if all is well.
  OfStatus Handle(OfRequest& request) const;

  template <typename Body>
  void Add(Handler<Body> handler) {
    entries_[OfBody(Body{}).index()] = {
        [handler](OfRequest& request) { return handler(request, std::get<Body>(request.message.body)); }, false};
  }
  // One that changes something, which secondary controllers may not.
  template <typename Body>
  void AddChange(Handler<Body> handler) {
    Add<Body>(handler);
    entries_[OfBody(Body{}).index()].changes = true;
  }

 private:
  struct Entry {
    std::function<OfStatus(OfRequest&)> handle;  // null: a switch does not take such messages
    bool changes = false;
  };
  std::array<Entry, std::variant_size_v<OfBody>> entries_;
};

void AddSessionRequests(RequestTable& table);
void AddRoleRequests(RequestTable& table);
void AddPortRequests(RequestTable& table);
void AddTableRequests(RequestTable& table);
void AddFlowRequests(RequestTable& table);
void AddGroupRequests(RequestTable& table);
void AddMeterRequests(RequestTable& table);
void AddPacketRequests(RequestTable& table);
void AddBundleRequests(RequestTable& table);
void AddMonitorRequests(RequestTable& table);
void AddNiciraRequests(RequestTable& table);

}  // namespace sluice
