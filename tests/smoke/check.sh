# vramfit check: the deployments in files.
. ./lib.sh

cat >"$work/compose.yaml" <<'END'
services:
  chat:
    image: ghcr.io/ggml-org/llama.cpp:server-cuda
    command: -hf unsloth/Qwen3-8B-GGUF:Q4_K_M -c 8192 -ngl 99
END

run "$VRAMFIT" check "$work/compose.yaml" --gpu 24GB
exits_with 0
complains_not
prints "qwen3-8b"
prints "fit"

run "$VRAMFIT" check "$work/compose.yaml" --gpu 4GB --format github
exits_with 1
prints "::error file=$work/compose.yaml,line=4::chat: qwen3-8b Q4_K_M, context 8192 on 4GB: oom"

run "$VRAMFIT" check "$work/nothing.yaml" --gpu 4GB
exits_with 2
prints_nothing
in_one_line
