#include "tandem/train/checkpoint.h"

#include <sstream>

#include "tandem/ops/ops.h"

namespace tandem {
namespace {

constexpr int64_t kVersion = 1;

struct Part {
  const char* name;
  const Saveable& part;
};

std::vector<Part> parts_of(const Checkpoint& c) {
  std::vector<Part> parts;
  for (const Part& p :
       {Part{"module", c.module}, Part{"optimizer", c.optimizer}, Part{"scheduler", c.scheduler},
        Part{"loader", c.loader}, Part{"progress", c.progress}})
    if (p.part) parts.push_back(p);
  return parts;
}

/// The state of the parts as it is now, apart from the tensors that they go on writing to.
std::string snapshot(const std::vector<Part>& parts) {
  serialize::OutputArchive archive;
  for (const Part& p : parts) {
    serialize::OutputArchive below;
    p.part.save(below);
    archive.write(p.name, below);
  }
  std::ostringstream out;
  archive.save_to(out);
  return std::move(out).str();
}

void load_parts(const std::vector<Part>& parts, serialize::InputArchive& archive) {
  for (const Part& p : parts) {
    serialize::InputArchive below;
    archive.read(p.name, below);
    p.part.load(below);
  }
}

}  // namespace

void Saveable::bind_schedule(optim::LRScheduler* schedule) {
  save = [schedule](serialize::OutputArchive& a) {
    for (const auto& [name, value] : schedule->state_dict()) a.write(name, IValue(value));
  };
  load = [schedule](serialize::InputArchive& a) {
    std::vector<std::pair<std::string, double>> state;
    for (const std::string& name : a.keys()) {
      IValue v;
      a.read(name, v);
      state.emplace_back(name, v.toDouble());
    }
    schedule->load_state_dict(state);
  };
}

void save_checkpoint(const std::string& path, const Checkpoint& c) {
  serialize::OutputArchive archive, values;
  archive.write("version", IValue(kVersion));
  archive.write("random", default_generator().get_state(), /*is_buffer=*/true);
  for (const Part& p : parts_of(c)) {
    serialize::OutputArchive below;
    p.part.save(below);
    archive.write(p.name, below);
  }
  for (const auto& [name, value] : c.values) values.write(name, value);
  archive.write("values", values);
  archive.save_to(path);
}

std::map<std::string, IValue> load_checkpoint(const std::string& path, const Checkpoint& c) {
  serialize::InputArchive archive, kept;
  archive.load_from(path);
  IValue version;
  TANDEM_CHECK_AS(FileError, archive.try_read("version", version) && version.isInt(), path,
                  ": this is not a checkpoint");
  TANDEM_CHECK_AS(FileError, version.toInt() == kVersion, path, ": version ", version.toInt(),
                  " of checkpoints is not known (only ", kVersion, ")");
  Tensor random;
  archive.read("random", random, /*is_buffer=*/true);
  std::map<std::string, IValue> values;
  serialize::InputArchive own;
  archive.read("values", own);
  for (const std::string& name : own.keys()) own.read(name, values[name]);

  const auto parts = parts_of(c);
  for (const Part& p : parts) {
    serialize::InputArchive below;
    TANDEM_CHECK_AS(FileError, archive.try_read(p.name, below), path, ": has no ", p.name);
  }
  // Each part checks before it changes anything, but a later one may refuse what it is given.
  const std::string before = snapshot(parts);
  const Tensor random_before = default_generator().get_state();
  try {
    load_parts(parts, archive);
    default_generator().set_state(random);
  } catch (const std::exception& e) {
    kept.load_from(before.data(), before.size());
    load_parts(parts, kept);
    default_generator().set_state(random_before);
    detail::raise<FileError>(str(path, ": ", e.what()));
  }
  return values;
}

}  // namespace tandem
