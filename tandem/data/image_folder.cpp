#include "tandem/data/image_folder.h"

#include <algorithm>
#include <filesystem>

#include "tandem/data/detail/images.h"
#include "tandem/ops/ops.h"

namespace tandem::data {

namespace detail {

Tensor zero_to_one(const Tensor& image) {
  return image.scalar_type() == kByte ? image.to(kFloat).div_(255) : image;
}

}  // namespace detail

namespace datasets {
namespace {

namespace fs = std::filesystem;

bool is_image(const fs::path& path) {
  std::string ending = path.extension().string();
  for (char& c : ending)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return ending == ".png" || ending == ".jpg" || ending == ".jpeg";
}

bool is_hidden(const fs::path& path) { return path.filename().string().starts_with("."); }

std::vector<std::string> folders_in(const std::string& root) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(root))
    if (entry.is_directory() && !is_hidden(entry.path()))
      names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

/// Links to folders are not followed, so that a loop of them has an end.
std::vector<std::string> images_below(const fs::path& folder) {
  std::vector<std::string> paths;
  for (auto it = fs::recursive_directory_iterator(folder); it != fs::end(it); ++it) {
    if (is_hidden(it->path())) {
      it.disable_recursion_pending();
      continue;
    }
    if (is_image(it->path()) && it->is_regular_file()) paths.push_back(it->path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace

ImageFolder::ImageFolder(const std::string& root, ImageFolderOptions options)
    : options_(std::move(options)) {
  if (!options_.size().empty()) io::scaled_size(1, 1, options_.size());  // refuses bad ones now
  TANDEM_CHECK_TYPE(options_.dtype() == kFloat || options_.dtype() == kByte,
                    "ImageFolder: images are float32 or uint8, not ", options_.dtype());
  auto list = std::make_shared<List>();
  try {
    list->classes = folders_in(root);
    TANDEM_CHECK_AS(FileError, !list->classes.empty(), root,
                    ": has no folders in it; expected one for each class");
    for (size_t c = 0; c < list->classes.size(); ++c) {
      const std::string folder = root + "/" + list->classes[c];
      const std::vector<std::string> paths = images_below(folder);
      TANDEM_CHECK_AS(FileError, !paths.empty(), folder,
                      ": there is no .png, .jpg or .jpeg file for class '", list->classes[c], "'");
      for (const std::string& path : paths)
        list->samples.push_back({path, static_cast<int64_t>(c)});
    }
  } catch (const fs::filesystem_error& e) {
    tandem::detail::raise<FileError>(str(e.path1().empty() ? root : e.path1().string(),
                                         ": cannot be read: ", e.code().message()));
  }
  list_ = std::move(list);
}

Example<> ImageFolder::get(size_t index) {
  TANDEM_CHECK_INDEX(index < list_->samples.size(), "ImageFolder: image ", index, " of ",
                     list_->samples.size());
  const Sample& sample = list_->samples[index];
  Tensor image = io::read_image(sample.path, options_.mode(), options_.size());
  if (options_.dtype() == kFloat) image = data::detail::zero_to_one(image);
  return {image, tensor(sample.target, kLong)};
}

Tensor ImageFolder::targets() const {
  Tensor t = empty({static_cast<int64_t>(list_->samples.size())}, kLong);
  int64_t* to = t.data_ptr<int64_t>();
  for (const Sample& s : list_->samples) *to++ = s.target;
  return t;
}

}  // namespace datasets
}  // namespace tandem::data
