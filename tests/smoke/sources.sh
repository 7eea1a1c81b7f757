# Models from catalogs of one's own, files and standard input, through the program itself.
. ./lib.sh

export HOME="$work/home" XDG_CONFIG_HOME="$work/config" OLLAMA_MODELS="$work/ollama"
unset VRAMFIT_CATALOG
mkdir -p "$work/config/vramfit" "$work/ollama"

run "$VRAMFIT" inspect qwen3-0.6b --as-catalog
exits_with 0
complains_not
sed 's/"id": "qwen3-0.6b"/"id": "mine"/' "$work/out" >"$work/config/vramfit/models.json"

run "$VRAMFIT" --model mine --quant q8_0 --ctx 8192 --gpu 24GB
exits_with 0
complains_not
prints "mine  Q8_0  ctx 8192"

run "$VRAMFIT" models mine
exits_with 0
prints "mine"

cat >"$work/config.json" <<'END'
{"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "head_dim": 128, "hidden_size": 1024,
 "intermediate_size": 3072, "max_position_embeddings": 40960, "num_attention_heads": 16, "num_hidden_layers": 28,
 "num_key_value_heads": 8, "tie_word_embeddings": true, "vocab_size": 151936}
END
run sh -c "\"$VRAMFIT\" -m - --quant q8_0 -c 8192 -g 24GB --explain <\"$work/config.json\""
exits_with 0
complains_not
prints "in the file"

run "$VRAMFIT" -m "$work/config.json" -c 8192 -g 24GB
exits_with 0
prints "* the best quantization that fits"

run "$VRAMFIT" -m "$work/gone.gguf" -c 8192 -g 24GB
exits_with 2
in_one_line
complains "no file "

run sh -c "printf GGUF | \"$VRAMFIT\" inspect -"
exits_with 2
in_one_line
complains "standard input"

run "$VRAMFIT" models --installed
exits_with 1
in_one_line

echo '{"models": [{"id": "a", "hparam": {}}]}' >"$work/config/vramfit/models.json"
run "$VRAMFIT" inspect qwen3-0.6b
exits_with 2
in_one_line
complains "line 1"
