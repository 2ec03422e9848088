// Images in files: every kind of PNG and JPEG, writing, resizing.
#include "tandem/io/image.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tandem/io/file.h"
#include "tandem/ops/ops.h"
#include "tests/io/corpus.h"

namespace tandem::io {
namespace {

const Corpus& corpus() {
  static const Corpus c;
  return c;
}
Tensor read(const std::string& name, ImageMode mode = ImageMode::kUnchanged,
            IntArrayRef size = {}) {
  return read_image(corpus() / name, mode, size);
}

/// 60 * x + 10 * y, as the corpus draws it.
Tensor grey() {
  return (arange(4, kLong).mul(60) + arange(3, kLong).mul(10).unsqueeze(1)).to(kByte).unsqueeze(0);
}
Tensor colours() {
  const Tensor x = arange(4, kLong).mul(60).expand({3, 4});
  const Tensor y = arange(3, kLong).mul(100).unsqueeze(1).expand({3, 4});
  return stack({x, y, full({3, 4}, 7, kLong)}).to(kByte);
}
void expect_equal(const Tensor& a, const Tensor& b, const std::string& what = "") {
  ASSERT_EQ(a.sizes(), b.sizes()) << what;
  EXPECT_TRUE(equal(a, b)) << what << "\n" << a << "\n" << b;
}
double largest_difference(const Tensor& a, const Tensor& b) {
  return a.to(kFloat).sub(b.to(kFloat)).abs().max().item<double>();
}

TEST(Image, KindsOfPNG) {
  expect_equal(read("good_gray.png"), grey());
  expect_equal(read("good_gray16.png"), grey());
  expect_equal(read("good_interlaced.png"), grey());
  expect_equal(read("good_gray1.png"),
               tensor({1, 0, 1, 0, 0, 1, 0, 1, 1, 1, 1, 1}, kByte).mul(255).view({1, 3, 4}));
  expect_equal(read("good_gray_alpha.png"), cat({grey(), 255 - grey()}));
  expect_equal(read("good_rgb.png"), colours());
  expect_equal(read("good_rgb16.png"), colours());
  const Tensor alpha = arange(4, kLong).mul(50).to(kByte).expand({1, 3, 4});
  expect_equal(read("good_rgb_alpha.png"), cat({colours(), alpha}));
  const Tensor which = tensor({0, 1, 0, 1, 1, 0, 1, 0, 0, 0, 0, 0}, kByte).view({3, 4});
  const Tensor painted = stack({which * 91 + 9, which * 102 + 8, which * 113 + 7});
  expect_equal(read("good_palette.png"), painted);
  expect_equal(read("good_palette_alpha.png"), cat({painted, (which * 215 + 40).unsqueeze(0)}));
}

TEST(Image, ChannelsThatAreAskedFor) {
  using enum ImageMode;
  const Tensor opaque = full({1, 3, 4}, 255, kByte);
  expect_equal(read("good_gray.png", kRGB), grey().expand({3, 3, 4}));
  expect_equal(read("good_gray.png", kRGBAlpha), cat({grey().expand({3, 3, 4}), opaque}));
  expect_equal(read("good_gray_alpha.png", kGray), grey());
  expect_equal(read("good_gray_alpha.png", kRGBAlpha),
               cat({grey().expand({3, 3, 4}), 255 - grey()}));
  expect_equal(read("good_rgb_alpha.png", kRGB), colours());
  expect_equal(read("good_palette_alpha.png", kRGB), read("good_palette.png"));
  const Tensor c = colours().to(kDouble);
  const Tensor bright = (c[0] * 0.299 + c[1] * 0.587 + c[2] * 0.114).unsqueeze(0);
  EXPECT_LE(largest_difference(read("good_rgb.png", kGray), bright), 1);
  expect_equal(read("good_rgb.png", kGrayAlpha), cat({read("good_rgb.png", kGray), opaque}));
}

/// What the corpus says of its JPEG files: red = 255 x / (w - 1), green = 255 y / (h - 1).
Tensor gradient(int64_t h, int64_t w) {
  return stack({linspace(0, 255, w).expand({h, w}), linspace(0, 255, h).unsqueeze(1).expand({h, w}),
                full({h, w}, 128)});
}

TEST(Image, KindsOfJPEG) {
  using enum ImageMode;
  const Tensor ramp = linspace(0, 255, 16).expand({1, 8, 16});
  ASSERT_EQ(read("good_gray.jpg").sizes(), (IntArrayRef{1, 8, 16}));
  EXPECT_LT(largest_difference(read("good_gray.jpg"), ramp), 8);
  expect_equal(read("good_gray.jpg", kRGB), read("good_gray.jpg").expand({3, 8, 16}));
  ASSERT_EQ(read("good_rgb.jpg").sizes(), (IntArrayRef{3, 8, 16}));
  EXPECT_LT(largest_difference(read("good_rgb.jpg"), gradient(8, 16)), 24);
  EXPECT_LT(read("good_rgb.jpg").to(kFloat).sub(gradient(8, 16)).abs().mean().item<double>(), 8);
  expect_equal(read("good_trailing.jpg"), read("good_rgb.jpg"));
  ASSERT_EQ(read("good_rgb.jpg", kGray).sizes(), (IntArrayRef{1, 8, 16}));
  ASSERT_EQ(read("good_progressive.jpg").sizes(), (IntArrayRef{3, 16, 32}));
  EXPECT_LT(largest_difference(read("good_progressive.jpg"), gradient(16, 32)), 24);
  // Inks (255 x / 7, 255 y / 7, 128, 200); Adobe's mark says that they are paper that is left.
  const Tensor inks = read("good_cmyk.jpg");
  ASSERT_EQ(inks.sizes(), (IntArrayRef{3, 8, 8}));
  EXPECT_LT(largest_difference(inks, gradient(8, 8) * (200 / 255.0)), 12);
}

TEST(Image, WrittenAndRead) {
  const Scratch s;
  const Tensor noise = randint(256, {4, 13, 7}, kByte);
  for (const int64_t channels : {1, 2, 3, 4}) {
    const Tensor image = noise.narrow(0, 0, channels);
    write_png(image, s / "a.png", static_cast<int>(channels) * 2);
    expect_equal(read_image(s / "a.png"), image);
  }
  const Tensor smooth = gradient(40, 50).to(kByte);
  write_jpeg(smooth, s / "a.jpg", 95);
  EXPECT_LT(largest_difference(read_image(s / "a.jpg"), smooth), 10);
  write_jpeg(smooth[0], s / "a.jpg");
  EXPECT_EQ(read_image(s / "a.jpg").sizes(), (IntArrayRef{1, 40, 50}));
  write_png(noise[0].t(), s / "b.png");  // not contiguous, and without channels
  expect_equal(read_image(s / "b.png"), noise[0].t().unsqueeze(0));

  EXPECT_THROW(write_png(Tensor(), s / "c.png"), Error);
  EXPECT_THROW(write_png(noise.to(kFloat), s / "c.png"), TypeError);
  EXPECT_THROW(write_png(randint(256, {5, 3, 3}, kByte), s / "c.png"), ShapeError);
  EXPECT_THROW(write_png(empty({3, 0, 3}, kByte), s / "c.png"), ShapeError);
  EXPECT_THROW(write_png(noise, s / "c.png", 11), Error);
  EXPECT_THROW(write_png(noise, s / "no such folder/c.png"), FileError);
  EXPECT_THROW(write_jpeg(noise, s / "c.png"), ShapeError);
  EXPECT_THROW(write_jpeg(noise[0], s / "c.png", 0), Error);
  EXPECT_FALSE(std::ifstream(s / "c.png").good());
  EXPECT_THROW(read_image(s / "c.png"), FileError);
  EXPECT_THROW(read_image(s.path()), FileError);
}

TEST(Image, Resized) {
  const Tensor image = colours();
  expect_equal(resize_image(image, 3, 4), image);
  // Averages of 2 x 2 pixels would be these; linear weights reach a little further.
  const Tensor ramp = arange(0, 160, 10, kByte).view({1, 1, 16}).expand({3, 8, 16});
  const Tensor half = resize_image(ramp, 4, 8);
  ASSERT_EQ(half.sizes(), (IntArrayRef{3, 4, 8}));
  const Tensor inner = half.narrow(2, 1, 6).to(kFloat);
  EXPECT_LE(largest_difference(inner, arange(25, 145, 20).expand({3, 4, 6})), 1);
  expect_equal(resize_image(full({2, 5, 5}, 200, kByte), 3, 9), full({2, 3, 9}, 200, kByte));
  EXPECT_EQ(resize_image(rand({6, 8}), 3, 5).sizes(), (IntArrayRef{3, 5}));
  EXPECT_THROW(resize_image(image, 0, 4), Error);
  EXPECT_THROW(resize_image(image.to(kLong), 2, 2), TypeError);
  EXPECT_THROW(resize_image(empty({3, 0, 4}, kByte), 2, 2), ShapeError);
  EXPECT_THROW(resize_image(Tensor(), 2, 2), Error);

  const ImageSize wide = scaled_size(100, 250, {50}), high = scaled_size(250, 100, {50});
  EXPECT_EQ(wide.height, 50);
  EXPECT_EQ(wide.width, 125);
  EXPECT_EQ(high.height, 125);
  EXPECT_EQ(high.width, 50);
  EXPECT_THROW(scaled_size(10, 10, {0}), Error);
  EXPECT_THROW(scaled_size(10, 10, {1, 2, 3}), Error);
  EXPECT_THROW(scaled_size(1, 1 << 20, {1 << 20}), Error);
}

TEST(Image, ResizedWhenRead) {
  // Decoded to a quarter first; the whole image would give nearly the same.
  const Tensor small = read("good_progressive.jpg", ImageMode::kRGB, {3, 7});
  const Tensor slow = resize_image(read("good_progressive.jpg"), 3, 7);
  ASSERT_EQ(small.sizes(), (IntArrayRef{3, 3, 7}));
  EXPECT_LT(largest_difference(small, slow), 16);
  EXPECT_EQ(read("good_progressive.jpg", ImageMode::kRGB, {5}).sizes(), (IntArrayRef{3, 5, 10}));
  EXPECT_EQ(read("good_gray.png", ImageMode::kGray, {6, 2}).sizes(), (IntArrayRef{1, 6, 2}));
}

TEST(Image, NoInputCrashes) {
  // Every place of good files damaged in a few ways: read or refused, never more.
  int refused = 0;
  for (const char* name : {"good_rgb.jpg", "good_progressive.jpg", "good_cmyk.jpg",
                           "good_palette_alpha.png", "good_interlaced.png", "good_rgb16.png"}) {
    const auto file = MappedFile::open(corpus() / name);
    for (size_t at = 0; at < file->size(); ++at)
      for (const int change : {0x01, 0x80, 0xff}) {
        std::string bytes(file->bytes());
        bytes[at] = static_cast<char>(bytes[at] ^ change);
        try {
          (void)decode_image(bytes);
        } catch (const FileError&) {
          ++refused;
        }
      }
    for (size_t n = 0; n < file->size(); ++n) {
      try {
        (void)decode_image(file->bytes().substr(0, n));
      } catch (const FileError&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 3000);
}

}  // namespace
}  // namespace tandem::io
