# A runtime's own command line behind --, its environment, and --exec.
. ./lib.sh

run "$VRAMFIT" --gpu 24GB -- llama-server -m Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf -c 65536 -ngl 99 -ctk q8_0 -np 4
exits_with 0
complains_not
prints "llama3.1-8b  Q4_K_M  ctx 65536 (4 x 16384)"
prints "is not here: sized from the"

run "$VRAMFIT" --gpu 24GB -- llama-server -c
exits_with 2
prints_nothing
in_one_line
complains "-c needs a value"

run "$VRAMFIT" --gpu 24GB --
exits_with 2
in_one_line

run env LLAMA_ARG_CTX_SIZE=4096 VRAMFIT_GPU=24GB "$VRAMFIT" -m llama3.1-8b --quant q4_k_m
exits_with 0
prints "ctx 4096"
prints "LLAMA_ARG_CTX_SIZE=4096"

run env LLAMA_ARG_CTX_SIZE=4096 "$VRAMFIT" -m llama3.1-8b --quant q4_k_m -g 24GB -c 8192 --no-env
exits_with 0
prints "ctx 8192"

# A program of that name which says that it ran, with an exit code of its own.
mkdir "$work/bin"
printf '#!/bin/sh\necho "ran $*"\nexit 7\n' >"$work/bin/llama-server"
chmod +x "$work/bin/llama-server"

run "$VRAMFIT" --gpu 24GB --exec -- "$work/bin/llama-server" -hf x/Llama-3.1-8B-GGUF -c 8192 -ngl 99
exits_with 7
complains_not
prints "ran -hf x/Llama-3.1-8B-GGUF -c 8192 -ngl 99"

run "$VRAMFIT" --gpu 4GB --exec -- "$work/bin/llama-server" -hf x/Llama-3.1-8B-GGUF -c 8192 -ngl 99
exits_with 1
prints_nothing
complains "OOM"

run "$VRAMFIT" --gpu 24GB --exec -- ./no-such/llama-server -hf x/Llama-3.1-8B-GGUF -c 8192
exits_with 2
prints_nothing
in_one_line
complains "cannot run"

run "$VRAMFIT" --gpu 24GB -m llama3.1-8b --quant q4_k_m --exec
exits_with 2
complains "--exec runs the command behind --"

# What is asked beside the command would not be what runs.
run "$VRAMFIT" --gpu 24GB -c 4096 --exec -- "$work/bin/llama-server" -hf x/Llama-3.1-8B-GGUF -c 8192
exits_with 2
prints_nothing
complains "would answer for something else than what --exec runs"
