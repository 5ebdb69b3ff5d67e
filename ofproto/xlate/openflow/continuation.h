// Continuations: a frozen state as the bytes that a paused packet carries to its controller, and back with NXT_RESUME.
#pragma once

#include <string>
#include <string_view>

#include "lib/openflow/error.h"
#include "ofproto/xlate/frozen_state.h"

namespace sluice {

// Opaque to controllers; not kept over restarts of the daemon's version.
std::string EncodeContinuation(const FrozenState& state);
// What a controller sends may be anything: kNxBrcNxmInvalid if it is nothing that EncodeContinuation() made.
OfResult<FrozenState> DecodeContinuation(std::string_view continuation);

}  // namespace sluice
