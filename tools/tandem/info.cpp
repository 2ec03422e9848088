// tandem info: what is in a file, or what this Tandem runs on.
#include <cstdio>
#include <filesystem>
#include <iostream>

#include "tandem/base/words.h"
#include "tandem/core/graph.h"
#include "tandem/io/idx.h"
#include "tandem/io/npy.h"
#include "tandem/io/safetensors.h"
#include "tandem/models/registry.h"
#include "tandem/ops/ops.h"
#include "tandem/runtime/config.h"
#include "tandem/serialize/archive.h"
#include "tandem/train/progress.h"
#include "tools/tandem/commands.h"
#include "tools/tandem/file_kind.h"
#include "tools/tandem/text.h"

namespace tandem::cli {
namespace {

using trainer::with_commas;

/// "min -0.52  mean 0.001  max 0.6", and what is not a number.
std::string statistics(const Tensor& t) {
  if (t.numel() == 0) return "no values";
  const Tensor v = t.to(kDouble);
  const Tensor finite = v.isfinite();
  const int64_t bad = t.numel() - finite.sum().item<int64_t>();
  if (bad == t.numel()) return "nothing finite";
  const Tensor good = bad ? v.masked_select(finite) : v;
  char text[160];
  std::snprintf(text, sizeof text, "min %.4g  mean %.4g  max %.4g", good.min().item<double>(),
                good.mean().item<double>(), good.max().item<double>());
  return bad ? str(text, "  ", with_commas(static_cast<double>(bad)), " not finite") : text;
}

/// All tensors of a file, one to a line; or one of them with its values.
void print_tensors(const io::NamedTensors& tensors, const Arguments& arguments,
                   const std::string& path) {
  if (const auto wanted = arguments.text("--tensor")) {
    std::vector<std::string> names;
    for (const auto& [name, t] : tensors) {
      if (name == *wanted) {
        std::cout << t << '\n';
        return;
      }
      names.push_back(name);
    }
    // All names of a large network would fill the screen.
    const std::string nearest = nearest_word(*wanted, names);
    throw FileError(str(path, ": there is no tensor '", *wanted, "'",
                        nearest.empty() ? "" : "; did you mean '" + nearest + "'?"));
  }
  Table table;
  for (const auto& [name, t] : tensors) {
    std::vector<std::string> row = {name, tandem::name_of(t.scalar_type()), str(t.sizes()),
                                    bytes_text(static_cast<double>(t.nbytes()))};
    if (arguments.has("--stats")) row.push_back(statistics(t));
    table.row(std::move(row));
  }
  table.print();
}

std::string totals(const io::NamedTensors& tensors) {
  int64_t numbers = 0;
  for (const auto& [name, t] : tensors) numbers += t.numel();
  return count(static_cast<int64_t>(tensors.size()), "tensor") + ", " + count(numbers, "number");
}

void headline(const std::string& path, const std::string& what, const std::string& more) {
  const auto size = static_cast<double>(std::filesystem::file_size(path));
  std::printf("%s: %s, %s%s%s\n", path.c_str(), what.c_str(), bytes_text(size).c_str(),
              more.empty() ? "" : ", ", more.c_str());
}

std::string text_of(const IValue& v) {
  std::ostringstream out;
  if (v.isNone()) return "none";
  if (v.isString()) return v.toStringRef();
  if (v.isBool()) return v.toBool() ? "true" : "false";
  if (v.isInt()) return str(v.toInt());
  if (v.isDouble()) return str(v.toDouble());
  const auto list = [&](const auto& values) {
    // Long histories are abridged in the middle.
    constexpr size_t kEnds = 5;
    for (size_t i = 0; i < values.size(); ++i) {
      if (values.size() > 2 * kEnds + 1 && i == kEnds) {
        out << " ...";
        i = values.size() - kEnds;
      }
      out << (i ? " " : "") << values[i];
    }
    return out.str();
  };
  if (v.isIntList()) return list(v.toIntVector());
  if (v.isDoubleList()) return list(v.toDoubleVector());
  if (v.isTensor()) return v.toTensor().defined() ? type_text(v.toTensor()) : "undefined";
  return count(static_cast<int64_t>(v.toTensorVector().size()), "tensor");
}

/// Everything below an entry: tensors to one list, other values to another.
void collect(const serialize::Entry& entry, const std::string& path, io::NamedTensors& tensors,
             Table& values, bool& any_values) {
  for (const auto& child : entry.children) {
    const std::string name = path.empty() ? child->key : path + "." + child->key;
    if (child->value && child->value->isTensor() && child->value->toTensor().defined()) {
      tensors.emplace_back(name, child->value->toTensor());
    } else if (child->value) {
      values.row({name, text_of(*child->value)});
      any_values = true;
    }
    collect(*child, name, tensors, values, any_values);
  }
}

bool is_checkpoint(const serialize::Entry& root) {
  return root.find("version") && root.find("random") && root.find("values");
}

void describe_archive(const std::string& path, const Arguments& arguments) {
  serialize::InputArchive archive;
  archive.load_from(path);  // compares the checksum
  io::NamedTensors tensors;
  Table values;
  bool any_values = false;
  const auto& root = archive.root();
  collect(root, "", tensors, values, any_values);
  if (!arguments.has("--tensor")) {
    headline(path, is_checkpoint(root) ? "a checkpoint of Tandem" : "an archive of Tandem",
             totals(tensors));
    if (any_values) {
      std::printf("values\n");
      values.print();
    }
    std::printf("tensors\n");
  }
  print_tensors(tensors, arguments, path);
}

void describe_safetensors(const std::string& path, const Arguments& arguments) {
  io::Metadata metadata;
  const io::NamedTensors tensors = io::named_tensors(load_safetensors(path, &metadata));
  if (metadata.contains("tandem.archive")) return describe_archive(path, arguments);
  if (!arguments.has("--tensor")) {
    headline(path, name_of(FileKind::kSafetensors), totals(tensors));
    if (!metadata.empty()) {
      std::printf("metadata\n");
      Table table;
      for (const auto& [key, value] : metadata) table.row({key, value.substr(0, 200)});
      table.print();
    }
    std::printf("tensors\n");
  }
  print_tensors(tensors, arguments, path);
}

void describe_one(const std::string& path, FileKind kind, const Tensor& t,
                  const Arguments& arguments) {
  if (arguments.has("--tensor")) {
    std::cout << t << '\n';
    return;
  }
  headline(path, name_of(kind), type_text(t));
  std::printf("  %s\n", statistics(t).c_str());
}

void describe_graph(const std::string& path) {
  const auto file = io::MappedFile::open(path);
  Graph g;
  try {
    g = Graph::parse(file->bytes());
  } catch (const Error& e) {
    throw FileError(path + ": " + e.what());
  }
  headline(path, name_of(FileKind::kGraph), count(static_cast<int64_t>(g.nodes.size()), "node"));
  Table table;
  for (size_t i = 0; i < g.inputs.size(); ++i)
    table.row({i < g.n_args() ? "argument" : "captured", str(g.inputs[i]->outputs()[0])});
  for (size_t i = 0; i < g.n_results; ++i)
    table.row({"result", str(g.outputs[i].node->outputs()[g.outputs[i].index])});
  table.print();
}

void describe_folder(const std::string& path) {
  int64_t files = 0, folders = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path))
    ++(entry.is_directory() ? folders : files);
  std::printf("%s: a folder of %s and %s\n", path.c_str(), count(files, "file").c_str(),
              count(folders, "folder").c_str());
}

void describe(const std::string& path, const Arguments& arguments) {
  if (std::filesystem::is_directory(path)) return describe_folder(path);
  const FileKind kind = file_kind(path);
  switch (kind) {
    case FileKind::kSafetensors:
      return describe_safetensors(path, arguments);
    case FileKind::kNpy:
      return describe_one(path, kind, load_npy(path), arguments);
    case FileKind::kIdx:
      return describe_one(path, kind, io::read_idx(path), arguments);
    case FileKind::kNpz: {
      const auto tensors = io::named_tensors(load_npz(path));
      if (!arguments.has("--tensor")) headline(path, name_of(kind), totals(tensors));
      return print_tensors(tensors, arguments, path);
    }
    case FileKind::kGraph:
      return describe_graph(path);
    case FileKind::kPyTorch:
      headline(path, name_of(kind), "");
      std::printf(
          "  Tandem reads safetensors. In Python:\n"
          "  safetensors.torch.save_file(torch.load(\"%s\"), \"weights.safetensors\")\n",
          path.c_str());
      return;
    default:
      headline(path, name_of(kind), "");
  }
}

void print_models() {
  Table table;
  for (const std::string& name : models::names()) table.row({name, models::info(name).what});
  table.print();
}

int run_info(const Arguments& arguments) {
  if (arguments.has("--models")) {
    print_models();
    return kOk;
  }
  if (arguments.operands().empty()) {
    if (arguments.has("--stats") || arguments.has("--tensor"))
      throw UsageError("--stats and --tensor are about a file: tandem info FILE");
    std::cout << show_config();
    return kOk;
  }
  int code = kOk;
  for (const std::string& path : arguments.operands()) {
    try {
      describe(path, arguments);
    } catch (const FileError& e) {
      // The other files may be fine.
      std::cout << std::flush;
      std::fprintf(stderr, "tandem info: %s\n", e.what());
      code = kMistake;
    } catch (const std::filesystem::filesystem_error& e) {
      std::cout << std::flush;
      std::fprintf(stderr, "tandem info: %s: %s\n", path.c_str(), e.code().message().c_str());
      code = kMistake;
    }
  }
  return code;
}

}  // namespace

const Command& info_command() {
  static const Command command = {
      .name = "info",
      .summary = "what is in a file; without one, what this Tandem runs on",
      .operands = "[FILE...]",
      .examples = {{"tandem info weights.safetensors", "names, types and sizes of its tensors"},
                   {"tandem info run.ckpt", "the settings and the state of a training run"},
                   {"tandem info x.npy --tensor x", "the values of a tensor"},
                   {"tandem info --models", "the networks that --model takes"},
                   {"tandem info", "version, processor, threads, libraries"}},
      .groups = {{"without a file", {{"--models", "", "list the networks that are known by name"}}},
                 {"about the tensors",
                  {{"--stats", "", "smallest, mean and largest value of each"},
                   {"--tensor", "NAME", "print the values of this one, long tensors abridged"}}}},
      .notes =
          "Reads safetensors, npy, npz, idx (also gzipped), checkpoints, archives and graphs as "
          "text.\nThe contents of a file say what it is, not its name. Checksums are compared.\n",
      .run = run_info,
  };
  return command;
}

}  // namespace tandem::cli
