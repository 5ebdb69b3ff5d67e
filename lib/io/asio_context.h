// The one place where Asio's types meet the event loop's: for the .cc files of lib/io (and later streams) only.
#pragma once

#include <asio/io_context.hpp>

#include "lib/io/event_loop.h"

namespace sluice {

struct EventLoop::Impl {
  asio::io_context context{1};
};

inline asio::io_context& AsioContext(EventLoop& loop) { return loop.impl().context; }

}  // namespace sluice
