#include "ofproto/xlate/xlate.h"

#include "ofproto/xlate/translator.h"

namespace sluice {

XlateOut Translate(const XlateIn& in) { return Translator(in).Run(); }

}  // namespace sluice
