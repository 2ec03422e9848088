#!/usr/bin/env bash
# tandem_test.sh PROGRAM: what the program tandem prints, writes and returns, for good and for bad input.
set -euo pipefail
tandem=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
failures=0

# run ARGUMENTS...: sets $status and $output (both streams).
run() {
  status=0
  output=$("$tandem" "$@" 2>&1) || status=$?
}
fail() {
  printf 'FAILED: %s\n  exit code %s\n  output: %s\n' "$*" "$status" "$output"
  failures=$((failures + 1))
}
# expect CODE PIECE ARGUMENTS...: the program ends with this exit code and prints this piece of text.
expect() {
  local code=$1 piece=$2
  shift 2
  run "$@"
  if ((status != code)) || [[ $output != *"$piece"* ]]; then
    fail "$* (wanted exit code $code and: $piece)"
  fi
}
same_files() { cmp -s "$1" "$2" || { status=0 output=; fail "$1 and $2 differ"; }; }

# -- help, versions, mistakes --------------------------------------------------------------------------
expect 0 "tandem train --model lenet"
expect 0 "commands" help
expect 0 "commands" --help
expect 0 "tandem 0." --version
for command in train evaluate predict info bench; do
  expect 0 "usage: tandem $command" help "$command"
  expect 0 "usage: tandem $command" "$command" --help
  # Help begins with examples.
  [[ $output == *"  tandem $command"*"usage:"* ]] || fail "help $command has no example"
done
expect 1 "did you mean 'train'?" trian
expect 1 "did you mean 'evaluate'?" help evalaute
expect 1 "There are: help train" nonsense
expect 1 "a command comes first" --model lenet
expect 1 "did you mean --epochs?" train --epoch 3
expect 1 "there is no option --quantise" train --quantise
expect 1 "--epochs needs a value: --epochs N" train --epochs
expect 1 "--epochs needs a value: --epochs N" train --epochs --resume
expect 1 "--epochs is given twice" train --epochs 1 --epochs 2
expect 1 "--resume takes no value" train --resume=1
expect 1 "'many' is not a whole number of at least 1" train --model lenet --data digits --epochs many
expect 1 "'0' is not a whole number of at least 1" train --model lenet --data digits --epochs 0
expect 1 "'1e400' is not a number" train --model lenet --data digits --lr 1e400
expect 1 "is not above 0" train --model lenet --data digits --lr -1
expect 1 "'x' is not expected" train x
expect 1 "which network?" train --data digits
expect 1 "which images?" train --model lenet
expect 1 "did you mean 'resnet18'?" train --model resent18 --data digits
expect 1 "did you mean 'adam'?" train --model lenet --data digits --optimizer adma
expect 1 "did you mean 'cosine'?" train --model lenet --data digits --schedule cosin
expect 1 "did you mean digits?" train --model lenet --data digit
expect 1 "there is no folder 'nowhere/at/all'" train --model lenet --data nowhere/at/all
expect 1 "neither test nor none nor a share" train --model lenet --data digits --validation some
expect 1 "from which file?" train --resume
expect 1 "there is no folder" train --model lenet --data digits --checkpoint nowhere/run.ckpt
expect 1 "wants images of at least" train --model alexnet --data digits --samples 100
expect 1 "which network?" predict --input x.npy
expect 1 "of what?" predict run.ckpt
expect 1 "See: tandem help predict" predict run.ckpt

# -- info ----------------------------------------------------------------------------------------------
expect 0 "oneDNN" info
expect 0 "processor" info
expect 0 "resnet152" info --models
python3 "$here/make_files.py" .
expect 0 "an npy file, 152 bytes, float32 [2, 3]" info x.npy
expect 0 "min 0  mean 2.5  max 5" info x.npy
expect 0 " 3  4  5" info x.npy --tensor x
expect 0 "an npz file" info t.npz
expect 0 "b  int64    [2]" info t.npz
expect 0 "safetensors file, 195 bytes, 2 tensors, 9 numbers" info t.safetensors
expect 0 "format  pt" info t.safetensors
expect 0 "conv.weight  float32  [2, 3]  24 bytes" info t.safetensors
expect 0 "min 0  mean 2.5  max 5" info t.safetensors --stats
expect 0 "[ CPUByteType{3} ]" info t.safetensors --tensor conv.bias
expect 1 "there is no tensor 'conv.wieght'; did you mean 'conv.weight'?" info t.safetensors --tensor conv.wieght
expect 0 "1 not finite" info nan.npy
expect 0 "an idx file, 24 bytes, uint8 [2, 2, 2]" info t-idx3-ubyte
expect 0 "an idx file" info t-idx3-ubyte.gz
expect 0 "a PyTorch file" info net.pt
expect 0 "a graph as text, 103 bytes, 2 nodes" info g.txt
expect 0 "argument  float32 [2]" info g.txt
expect 0 "a text file" info note.txt
expect 0 "an empty file" info empty
expect 0 "a folder of" info .
expect 1 "no such file: there is none" info "no such file: there is none"
expect 1 "cut.safetensors" info cut.safetensors
expect 1 "graph.txt: graph text, line 3" info graph.txt
expect 1 "cut.npy" info cut.npy x.npy
[[ $output == *"x.npy: an npy file"* ]] || fail "info goes on with the next file"

# Every malformed file is refused with its name, whatever its kind.
python3 "$here/../corpus/make_malformed.py" corpus >/dev/null
checked=0
while IFS=$'\t' read -r name message; do
  [[ $name == *.safetensors || $name == *.npy || $name == *.npz ]] || continue
  # One of each dozen: a process for each takes its time. The others are read by the tests of io.
  checked=$((checked + 1))
  ((checked % 12 == 0)) || continue
  run info "corpus/$name"
  if [[ $message == ok ]]; then
    ((status == 0)) || fail "info of the good file $name"
  elif ((status > 1)) || { ((status == 1)) && [[ $output != *"$name"* ]]; }; then
    fail "info of the malformed file $name"
  fi
done <corpus/list.txt
((checked > 100)) || { status=0 output=; fail "only $checked malformed files"; }

# -- training ------------------------------------------------------------------------------------------
few=(--model lenet --data digits --samples 600 --epochs 3 --batch-size 50 --threads 2 --log log.csv)
expect 0 "test accuracy" train "${few[@]}" --checkpoint whole.ckpt --expect 40 --save-weights w.safetensors
[[ $output == *"digits drawn by this program: 600 images to train on, 1,000 to test; 10 classes, 1 x 28 x 28"* ]] ||
  fail "train says what it trains on"
[[ $output == *"lenet: 61,706 parameters; adam, learning rate 0.001 (cosine), batches of 50"* ]] ||
  fail "train says what it trains"
[[ $(wc -l <log.csv) == 4 && $(head -1 log.csv) == epoch,* ]] || fail "log.csv: $(cat log.csv)"
expect 2 "less than the 101.00 % asked for" train --model lenet --data digits --samples=100 --epochs=1 --expect=101
expect 1 "is there already: --resume goes on with it" train "${few[@]}" --checkpoint whole.ckpt
expect 0 "a checkpoint of Tandem" info whole.ckpt
[[ $output == *"values.model "*lenet* && $output == *"progress.epoch "*3* ]] || fail "info of a checkpoint"
expect 0 "a safetensors file" info w.safetensors
[[ $output == *"model  lenet"* ]] || fail "the weights' file says which model they are of"

# The same seed gives the same run, whatever reads the images; another seed another one.
expect 0 "accuracy" train "${few[@]}" --checkpoint again.ckpt --workers 0 --quiet
same_files whole.ckpt again.ckpt
expect 0 "accuracy" train "${few[@]}" --checkpoint other.ckpt --seed 2 --quiet
! cmp -s whole.ckpt other.ckpt || fail "another seed gave the same weights"

# Killed again and again, also while it saves, a run ends with the bytes of the whole one.
identity() { stat -c %i:%Y:%s killed.ckpt 2>/dev/null || true; }
kills=0
for try in 1 2 3 4 5 6 7 8 9 10; do
  before=$(identity)
  "$tandem" train "${few[@]}" --checkpoint killed.ckpt --resume --save-every 2 --quiet >/dev/null 2>&1 &
  pid=$!
  # It gets somewhere first, however busy the machine is.
  for _ in $(seq 400); do
    if [[ $(identity) != "$before" ]] || ! kill -0 $pid 2>/dev/null; then break; fi
    sleep 0.05
  done
  sleep "0.0$((try * 7 % 10))"
  if kill -KILL $pid 2>/dev/null; then kills=$((kills + 1)); fi
  wait $pid 2>/dev/null || true
  expect 0 "a checkpoint of Tandem" info killed.ckpt
done
((kills > 2)) || fail "only $kills runs were killed"
expect 0 "accuracy" train --checkpoint killed.ckpt --resume
same_files whole.ckpt killed.ckpt
expect 0 "accuracy" train --checkpoint killed.ckpt --resume # all is done
same_files whole.ckpt killed.ckpt

# Ctrl-C saves, says how to go on, and returns 130.
status=0 output=
set -m # in a group of its own, else bash makes it ignore the signal
"$tandem" train "${few[@]}" --checkpoint int.ckpt >int.log 2>&1 &
pid=$!
set +m
for _ in $(seq 300); do
  if [[ -e int.ckpt ]]; then break; fi
  sleep 0.05
done
kill -INT $pid 2>/dev/null || true
wait $pid || status=$?
output=$(<int.log)
if ((status == 130)); then
  [[ $output == *"go on with: tandem train --resume --checkpoint int.ckpt"* ]] || fail "Ctrl-C says how to go on"
else
  # The signal came after the end on a machine that is busy enough.
  ((status == 0)) || fail "Ctrl-C"
fi
expect 0 "accuracy" train --checkpoint int.ckpt --resume
same_files whole.ckpt int.ckpt

expect 1 "a run that is resumed keeps its settings" train --resume --checkpoint whole.ckpt --lr 0.5
expect 1 "was begun with digits" train --resume --checkpoint whole.ckpt --data fashion-mnist
{ head -c 20000 whole.ckpt; printf X; tail -c +20002 whole.ckpt; } >damaged.ckpt
expect 1 "damaged.ckpt" train --resume --checkpoint damaged.ckpt
expect 1 "damaged.ckpt" info damaged.ckpt
expect 1 "is not a checkpoint" evaluate w.safetensors
expect 0 "lenet" train --model lenet --data digits --samples 200 --epochs 1 --checkpoint damaged.ckpt --overwrite

# Other ways to train.
expect 0 "line by line" train --model lenet --data digits --samples 100 --epochs 1 --eager
expect 0 "sgd, learning rate 0.01 (onecycle)" train --model lenet --data digits --samples 200 --epochs 2 \
  --optimizer sgd --lr 0.01 --schedule onecycle --warmup 0.5 --clip 1 --weight-decay 1e-4 --validation none --deterministic
[[ $output == *"training accuracy"* ]] || fail "without images to test with"
expect 0 "480 images to train on, 120 to test" train --model lenet --data t.data.npz --epochs 1 --validation 0.2
expect 0 "600 images to train on, none to test" train --model lenet --data t.data.npz --epochs 1
expect 0 "1 x 32 x 32" train --model lenet --data digits --samples 60 --epochs 1 --size 32
expect 1 "needs images to test with" train --model lenet --data t.data.npz --epochs 1 --patience 2
expect 2 "not a number any more" train --model lenet --data digits --samples 200 --epochs 3 --lr 1e30 --optimizer sgd
expect 0 "3 x 16 x 16" train --model resnet20 --data photos --size 16 --epochs 1 --batch-size 8 --checkpoint photos.ckpt
expect 1 "nothing.npz" train --model lenet --data nothing.npz

# -- using what was trained ----------------------------------------------------------------------------
expect 0 "lenet on 1,000 images of digits" evaluate whole.ckpt
trained=$(tail -1 log.csv | cut -d, -f4)
[[ $output == *"accuracy $(python3 -c "print(f'{100 * $trained:.2f}')") %"* ]] ||
  fail "evaluate finds another accuracy than train: $trained"
expect 0 "7      100     " evaluate whole.ckpt --classes
expect 2 "less than the 100.00 % asked for" evaluate whole.ckpt --expect 100
expect 0 "accuracy" evaluate --model lenet --num-classes 10 --weights w.safetensors --data digits --eager
expect 1 "has no test images of its own" evaluate whole.ckpt --data photos --size 28
expect 1 "images of 1 channel, the network is for 3" evaluate photos.ckpt --data digits
expect 1 "the network is for 2" evaluate photos.ckpt --data many.npz
expect 1 "w.safetensors" evaluate --model resnet20 --weights w.safetensors --data digits

expect 0 "y.npy: float32 [5, 10] from uint8 [5, 1, 28, 28]" predict whole.ckpt --input digits.npy --output y.npy
expect 0 "p.npy: float32 [5, 10]" predict whole.ckpt --input digits.npy --output p.npy --probabilities --eager
expect 0 "c.npy: int64 [5]" predict whole.ckpt --input digits.npy --output c.npy --classes --batch-size 2
expect 0 "f.npy: float32 [5, 10]" predict whole.ckpt --input digits_float.npy --output f.npy
python3 "$here/check_predictions.py" || { status=0 output=; fail "the predictions do not agree"; }
expect 0 "  4  " predict whole.ckpt --input digits.npy
expect 0 "%" predict photos.ckpt --input photos/red/0.png
expect 1 "expected an npy file or an image" predict whole.ckpt --input w.safetensors
expect 1 "expected [images, 1, height, width]" predict whole.ckpt --input t5.npy
expect 1 "single number" predict whole.ckpt --input scalar.npy
expect 1 "there are no images" predict whole.ckpt --input none.npy
expect 1 "no.npy" predict whole.ckpt --input no.npy
expect 1 "cut.npy" predict whole.ckpt --input cut.npy
expect 1 "no_folder/y.npy" predict whole.ckpt --input digits.npy --output no_folder/y.npy
expect 1 "not both" predict whole.ckpt --input digits.npy --classes --probabilities
expect 1 "the checkpoint knows it" predict whole.ckpt --input digits.npy --model lenet

expect 0 "compiled is" bench --model lenet --batch-size 4 --seconds 0.05

((failures == 0)) && echo "all cases passed"
exit $((failures > 0))
