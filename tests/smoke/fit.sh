# The main job, as people and scripts meet it.
. ./lib.sh

run "$VRAMFIT" --model llama3.1-8b --quant q4_k_m --ctx 32768 --gpu 24GB
exits_with 0
complains_not
prints "llama3.1-8b  Q4_K_M  ctx 32768  KV f16"
prints "  FIT   "
prints "  weights    4.3 GiB"
prints "  KV cache   4.0 GiB"

run "$VRAMFIT" fit -m llama3.1-8b --quant q4_k_m -c 32768 -g 8GB --json
exits_with 1
complains_not
prints '"schema": "vramfit/estimate/1"'
prints '"tensor_bytes": 4912898304'
prints '"verdict": "oom"'

run "$VRAMFIT" -m llama3.1-8b --quant q4_k_m -c 32768 -g 8GB -q
exits_with 1
prints_nothing
complains_not

run "$VRAMFIT" -m llama3.1-8 --quant q4_k_m -c 32768 -g 8GB
exits_with 2
prints_nothing
in_one_line
complains "llama3.1-8b"
