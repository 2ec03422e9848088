#!/usr/bin/env bash
# train_text_test.sh PROGRAM: trains a language model on a text that the program makes up, by its own loop
# and by fit(), and gives it bad files and options. On TANDEM_SHAKESPEARE, a file, it is trained in earnest.
set -euo pipefail
program=$1
source "$(dirname "$0")/expect.sh"

# Single letters without what came before are at 2.8 nats; 0.3 takes a memory of whole words.
small=(--hidden 64 --layers 1 --batch 16 --steps 32 --lr 0.01 --epochs 2 --sample 50)
expect 0 "a loop of its own, compiled" "${small[@]}" --expect 0.3 --save "$scratch/weights.safetensors"
[[ -s $scratch/weights.safetensors ]] || { echo "FAILED: no weights were saved"; failures=$((failures + 1)); }
expect 0 "fit(), compiled" "${small[@]}" --fit --expect 0.4
expect 0 "line by line" "${small[@]}" --eager --expect 0.3
expect 2 "more than the 0.0000 asked for" "${small[@]}" --epochs 1 --expect 0

expect 1 "$scratch/none" --data "$scratch/none"
: >"$scratch/empty"
expect 1 "train_text:" --data "$scratch/empty"
printf 'abc' >"$scratch/short"
expect 1 "train_text:" --data "$scratch/short"
expect 1 "unknown option --nonsense" --nonsense
expect 1 "option --epochs needs a value" --epochs
expect 1 "option --hidden: '0' is not a number of at least 1" --hidden 0
expect 0 "--temperature X" --help

if [[ -n ${TANDEM_SHAKESPEARE:-} ]]; then
  for way in "" --fit; do
    expect 0 "nats a character" --data "$TANDEM_SHAKESPEARE" --layers 1 --batch 16 --epochs 3 --lr 0.003 \
      --expect 1.7 $way
  done
else
  echo "NOT TESTED: set TANDEM_SHAKESPEARE to the file of Shakespeare's texts to train on it"
fi

((failures == 0)) && echo "all cases passed"
exit $((failures > 0))
