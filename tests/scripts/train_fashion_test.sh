#!/usr/bin/env bash
# train_fashion_test.sh PROGRAM: trains for a moment on drawn digits, and gives it bad files and options.
set -euo pipefail
program=$1
source "$(dirname "$0")/expect.sh"

# be32 NUMBER: four bytes, big end first, as printf wants them.
be32() { printf '\\x%02x\\x%02x\\x%02x\\x%02x' $(($1 >> 24 & 255)) $(($1 >> 16 & 255)) $(($1 >> 8 & 255)) $(($1 & 255)); }
images() { # images N: an idx file of N images
  printf "\\x00\\x00\\x08\\x03$(be32 "$1")$(be32 28)$(be32 28)"
  head -c $(($1 * 784)) /dev/zero
}
labels() { # labels N [VALUE]
  printf "\\x00\\x00\\x08\\x01$(be32 "$1")"
  head -c "$1" /dev/zero | tr '\0' "${2:-\\1}"
}
# good: a folder of well-formed files; cases break one of them.
good() {
  data=$scratch/data
  rm -rf "$data"
  mkdir "$data"
  local prefix
  for prefix in train t10k; do
    images 20 | gzip >"$data/$prefix-images-idx3-ubyte.gz"
    labels 20 | gzip >"$data/$prefix-labels-idx1-ubyte.gz"
  done
}
# first N: the first bytes of what comes in. Reads all of it: a closed pipe would end the writer, and us.
first() { dd bs=1 count="$1" status=none && cat >/dev/null; }
bad() { expect 1 "$1" --data "$data" --epochs 1; }

# Real training: this must reach what a broken gradient would not.
expect 0 "test accuracy" --net mlp --digits --samples 6000 --epochs 2 --expect 95
expect 0 "test accuracy" --net cnn --digits --samples 2000 --epochs 3 --expect 85
expect 0 "784-64-10" --net mlp --digits --samples 4000 --epochs 2 --hidden 64 --loss norm --expect 70
expect 0 "digits drawn by this program" --net mlp --data "$scratch/none" --samples 500 --epochs 1
expect 0 "the losses of eager and compiled are" --net mlp --digits --samples 1000 --epochs 2 --hidden 32
expect 0 "eager " --net mlp --digits --samples 500 --epochs 1 --mode eager
expect 0 "compiled function: 2 graphs" --net mlp --digits --samples 500 --epochs 1 --mode compiled --explain
expect 0 "cnn by fit(), compiled" --net cnn --digits --samples 2000 --epochs 3 --fit --expect 85
expect 2 "less than the 101.00 % asked for" --net mlp --digits --samples 500 --epochs 1 --fit --expect 101
expect 2 "less than the 101.00 % asked for" --net mlp --digits --samples 500 --epochs 1 --expect 101

# Graphs are drawn where one says, by network and step, as a picture and as a page.
expect 0 "the compiled step is drawn in $scratch/graphs/cnn_step.svg" --net cnn --digits --samples 300 --epochs 1 \
  --draw "$scratch/graphs"
for file in cnn_network.svg cnn_network.html cnn_step.svg cnn_step.html; do
  grep -q "BatchNorm2d" "$scratch/graphs/$file" || { echo "FAILED: $file shows no module"; failures=$((failures + 1)); }
done
grep -q "one kernel for" "$scratch/graphs/cnn_step.svg" || { echo "FAILED: no fused group"; failures=$((failures + 1)); }
expect 0 "the network's graph is drawn in" --net mlp --digits --samples 300 --epochs 1 --fit --draw "$scratch/graphs"
expect 1 "option --draw: the folder /dev/null/graphs cannot be made" --net mlp --digits --samples 300 --epochs 1 \
  --mode eager --draw /dev/null/graphs

good
expect 0 "20 training images, 20 test images" --data "$data" --epochs 1
good
for file in "$data"/*.gz; do gunzip "$file"; done
expect 0 "20 training images, 20 test images" --data "$data" --epochs 1   # plain files do as well

good; rm "$data/train-labels-idx1-ubyte.gz";                     bad "there is no train-labels-idx1-ubyte.gz"
good; echo "not gz, not idx" >"$data/t10k-images-idx3-ubyte.gz"; bad "t10k-images-idx3-ubyte.gz: is not an idx file"
good; : >"$data/train-images-idx3-ubyte.gz";                     bad "is not an idx file"
good; labels 20 | gzip >"$data/train-images-idx3-ubyte.gz";      bad "has 1 dimensions, expected 3"
good; printf '\0\0\x0d\x03' | gzip >"$data/train-images-idx3-ubyte.gz"; bad "elements of type 13"
good; printf '\0\0\x08\x03\0\0' | gzip >"$data/train-images-idx3-ubyte.gz"
bad "the header ends in dimension 0"
good; images 20 | first 9000 | gzip >"$data/train-images-idx3-ubyte.gz"
bad "the header promises 15680 bytes, there are 8984"
good; { images 20; echo more; } | gzip >"$data/train-images-idx3-ubyte.gz"; bad "goes on after the 15680 bytes"
# A header that promises 4 * 10^9 images must not make the program ask for that memory.
good; printf "\\x00\\x00\\x08\\x03$(be32 4000000000)$(be32 28)$(be32 28)" | gzip >"$data/train-images-idx3-ubyte.gz"
bad "the header promises 3136000000000 bytes, there are 0"
good; printf "\\x00\\x00\\x08\\x03$(be32 4294967295)$(be32 4294967295)$(be32 4294967295)" | gzip >"$data/train-images-idx3-ubyte.gz"
bad "impossible extents"
good; images 20 | gzip | first 30 >"$data/train-images-idx3-ubyte.gz"; bad "train-images-idx3-ubyte.gz: is cut short"
good; images 20 | gzip >"$scratch/gz"
printf '\xff\xff\xff\xff' | dd of="$scratch/gz" bs=1 seek=25 conv=notrunc status=none
cp "$scratch/gz" "$data/train-images-idx3-ubyte.gz";             bad "train-images-idx3-ubyte.gz: is damaged"
good; labels 19 | gzip >"$data/train-labels-idx1-ubyte.gz";      bad "20 images, but"
good; labels 20 '\12' | gzip >"$data/train-labels-idx1-ubyte.gz"; bad "label 0 is 10, expected 0 to 9"
good; { printf "\\x00\\x00\\x08\\x03$(be32 1)$(be32 2)$(be32 3)"; printf 123456; } | gzip >"$data/train-images-idx3-ubyte.gz"
bad "images of 2 x 3, expected 28 x 28"

expect 1 "unknown option --nonsense" --nonsense
expect 1 "option --epochs needs a value" --epochs
expect 1 "option --epochs: '0' is not a number of at least 1" --epochs 0
expect 1 "option --lr: 'fast' is not a number" --lr fast
expect 1 "'hinge' is neither cross_entropy nor norm" --loss hinge
expect 1 "'rnn' is neither mlp nor cnn" --net rnn
expect 1 "'lazy' is neither eager nor compiled nor both" --mode lazy
expect 0 "--epochs N" --help

((failures == 0)) && echo "all cases passed"
exit $((failures > 0))
