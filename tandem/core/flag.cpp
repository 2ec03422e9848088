#include "tandem/core/flag.h"

#include "tandem/core/recorder.h"

namespace tandem {

Flag::operator bool() const {
  if (Recorder* r = t_mode.recorder) r->note_flag(value_);
  return *value_;
}

Flag& Flag::operator=(bool value) {
  if (Recorder* r = t_mode.recorder) r->write_flag(value_);
  *value_ = value;
  return *this;
}

void Watched::read() const {
  if (Recorder* r = t_mode.recorder) r->note_flag(has_changed_);
}

void Watched::changed() {
  *has_changed_ = true;
  has_changed_ = std::make_shared<bool>(false);
}

}  // namespace tandem
