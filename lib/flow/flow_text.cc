#include "lib/flow/flow_text.h"
