#!/usr/bin/env bash
# Makes the bundled encoder mini-zh. DATA holds pretrain/ (modern_*.txt, CLUECorpusSmall*.txt, cmdd_*.txt) and the
# corpora that collect_text.py names. About 65 minutes on two cores with bf16.
#
#     bash tools/encoder/make_mini_zh.sh DATA OUTPUT
set -euo pipefail
data=$1
output=$2
text=$(mktemp -d)

python "$(dirname "$0")/collect_text.py" "$data" "$text"

# Four times: dialogue, news, reviews, messages and clinical notes are few beside the prose.
others=("$data"/pretrain/CLUECorpusSmall*.txt "$data"/pretrain/cmdd_*.txt "$text"/*.txt)
kbert pretrain "$data"/pretrain/modern_*.txt \
    "${others[@]}" "${others[@]}" "${others[@]}" "${others[@]}" \
    --output "$output" --half --max-steps 31000 --tokens-per-batch 2048 \
    --short-length 64 --short-share 0.7 --max-length 128 \
    --mask-rate 0.25 --learning-rate 1e-3 --matrix-rate 0.007 --save-steps 2000
