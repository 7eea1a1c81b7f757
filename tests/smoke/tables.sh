# One thing left out: vramfit looks for it.
. ./lib.sh

run "$VRAMFIT" -m llama3.1-8b
exits_with 0
complains_not
prints "quant"
prints "131072"

run "$VRAMFIT" -g 24GB -c 8k --quant q4_k_m
exits_with 0
complains_not
prints "models  Q4_K_M  ctx 8192"
prints "qwen3-32b"

run "$VRAMFIT" -m llama3.1-8b -g 12GB
exits_with 0
prints "largest"

run "$VRAMFIT" -m llama3.1-8b -g 2GB -c 8k
exits_with 1
prints "no quantization fits"

run "$VRAMFIT" -m llama3.1-8b --quant q4_k_m -c 32k --format tsv
exits_with 0
prints "rtx3060-12gb"

run "$VRAMFIT" -m llama3.1-8b -g 12GB --explain
exits_with 2
prints_nothing
in_one_line

run "$VRAMFIT" -c 8k
exits_with 2
prints_nothing
in_one_line
complains "give a model or a GPU"
