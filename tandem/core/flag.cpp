#include "tandem/core/flag.h"

#include "tandem/core/recorder.h"

namespace tandem {

Flag::operator bool() const {
  if (Recorder* r = t_mode.recorder) r->note_flag(value_);
  return *value_;
}

}  // namespace tandem
