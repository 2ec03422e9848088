#include "tandem/data/text.h"

#include <algorithm>
#include <map>

#include "tandem/io/file.h"
#include "tandem/ops/ops.h"

namespace tandem::data {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

/// The pieces that get numbers, most frequent first, those of equal frequency by their bytes.
std::vector<std::string> frequent_pieces(std::string_view text, const TextCorpusOptions& o,
                                         const std::string& name) {
  std::map<std::string, int64_t, std::less<>> counts;
  detail::for_each_piece(text, o.unit(), name, [&](std::string_view piece, size_t) {
    if (o.unit() == TextUnit::kWord && piece == "\n") return;
    const auto at = counts.find(piece);
    if (at == counts.end())
      counts.emplace(piece, 1);
    else
      ++at->second;
  });
  std::vector<std::pair<int64_t, std::string>> pieces;
  for (const auto& [piece, count] : counts)
    if (count >= o.min_count()) pieces.emplace_back(-count, piece);
  std::sort(pieces.begin(), pieces.end());
  if (o.max_size() > 0 && static_cast<size_t>(o.max_size()) < pieces.size())
    pieces.resize(static_cast<size_t>(o.max_size()));
  std::vector<std::string> names;
  for (auto& [count, piece] : pieces) names.push_back(std::move(piece));
  return names;
}

Vocabulary make_vocabulary(std::string_view text, const TextCorpusOptions& o,
                           const std::string& name) {
  TANDEM_CHECK(o.min_count() >= 1 && o.max_size() >= 0, "TextCorpus: min_count ", o.min_count(),
               " and max_size ", o.max_size());
  Vocabulary v(o.unit());
  if (o.unit() == TextUnit::kByte) {  // a byte's number is the byte
    for (int b = 0; b < 256; ++b) v.add(std::string(1, static_cast<char>(b)));
    return v;
  }
  const bool words = o.unit() == TextUnit::kWord;
  std::vector<std::string> pieces = frequent_pieces(text, o, name);
  if (!o.unknown().empty() && (words || o.min_count() > 1 || o.max_size() > 0))
    v.set_unknown(o.unknown());
  if (words && !o.end_of_line().empty()) v.set_end_of_line(o.end_of_line());
  if (!words) std::sort(pieces.begin(), pieces.end());
  for (const std::string& p : pieces) v.add(p);
  return v;
}

}  // namespace

TextCorpus TextCorpus::from_text(std::string_view text, TextCorpusOptions options,
                                 const std::string& name) {
  const std::string lowered = options.lower_case() ? lower(text) : std::string();
  if (options.lower_case()) text = lowered;
  auto vocabulary = std::make_shared<const Vocabulary>(options.vocabulary()
                                                           ? *std::move(options.vocabulary())
                                                           : make_vocabulary(text, options, name));
  Tensor ids = vocabulary->encode(text, name);
  return {std::move(ids), std::move(vocabulary), options.lower_case()};
}

TextCorpus::TextCorpus(const std::string& path, TextCorpusOptions options)
    : TextCorpus([&] {
        const auto file = io::MappedFile::open(path);
        TANDEM_CHECK_AS(FileError, file->size() > 0, path, ": is empty");
        return from_text(file->bytes(), std::move(options), path);
      }()) {}

Tensor TextCorpus::encode(std::string_view text) const {
  return vocabulary_->encode(lower_case_ ? lower(text) : std::string(text));
}

std::pair<TextCorpus, TextCorpus> TextCorpus::split(double share) const {
  TANDEM_CHECK(share >= 0 && share <= 1, "TextCorpus: a share of ", share,
               ", expected one from 0 to 1");
  const auto first = static_cast<int64_t>(share * static_cast<double>(size()));
  return {TextCorpus(ids_.narrow(0, 0, first), vocabulary_, lower_case_),
          TextCorpus(ids_.narrow(0, first, size() - first), vocabulary_, lower_case_)};
}

datasets::BPTT TextCorpus::bptt(int64_t batch_size, int64_t steps) const {
  return {ids_, datasets::BPTTOptions(batch_size, steps)};
}

namespace datasets {

BPTT::BPTT(Tensor ids, BPTTOptions options) : options_(options), ids_(std::move(ids)) {
  const int64_t batch = options_.batch_size(), steps = options_.steps();
  TANDEM_CHECK(ids_.defined() && ids_.dim() == 1, "BPTT: expected one long sequence, got ",
               ids_.defined() ? str(ids_.sizes()) : "an undefined tensor");
  TANDEM_CHECK(batch > 0 && steps > 0, "BPTT: a batch of ", batch, " and ", steps, " steps");
  TANDEM_CHECK(ids_.numel() > batch, "BPTT: ", ids_.numel(), " elements are too few for ", batch,
               " streams");
  length_ = (ids_.numel() - 1) / batch;
  windows_ =
      static_cast<size_t>(options_.drop_last() ? length_ / steps : (length_ - 1) / steps + 1);
}

Example<> BPTT::get(size_t window) const {
  TANDEM_CHECK_INDEX(window < windows_, "BPTT: window ", window, " of ", windows_);
  const int64_t from = static_cast<int64_t>(window) * options_.steps();
  const int64_t n = std::min(options_.steps(), length_ - from);
  // A stream's last target is the first element of the next.
  const auto part = [&](int64_t shift) {
    const Tensor t = ids_.narrow(0, shift, options_.batch_size() * length_)
                         .view({options_.batch_size(), length_})
                         .narrow(1, from, n);
    return (options_.batch_first() ? t : t.t()).contiguous();
  };
  return {part(0), part(1)};
}

Example<> BPTT::get_batch(ArrayRef<size_t> windows) {
  TANDEM_CHECK(windows.size() == 1, "BPTT: a window is a whole batch already, but ", windows.size(),
               " were asked for: the loader's batch size must be 1");
  data::detail::at_sample(0);
  return get(windows[0]);
}

}  // namespace datasets
}  // namespace tandem::data
