# Logs, as files and through a pipe.
. ./lib.sh

run "$VRAMFIT" diagnose "$DATA/logs/24_fail_gemma27b_kv.log"
exits_with 0
complains_not
prints "OUT OF MEMORY  KV cache, CUDA0"
prints "asked for: 10240 MiB"

run "$VRAMFIT" diagnose "$DATA/logs/24_fail_gemma27b_kv.log" --json
exits_with 0
prints '"schema": "vramfit/diagnosis/1"'
prints '"cause": "kv_too_large"'

run "$VRAMFIT" diagnose "$DATA/logs/27_fail_truncated_file.log"
exits_with 1
prints "NOT MEMORY"

run sh -c "cat '$DATA/logs/008_llamacpp_two_loads_last_fails.log' | '$VRAMFIT' diagnose -"
exits_with 0
prints "49152 tokens"

run "$VRAMFIT" diagnose "$work/none.log"
exits_with 2
prints_nothing
in_one_line
complains "cannot read"

run "$VRAMFIT" compare "$DATA/logs/31_server_mixed_sizes_2gpu.log"
exits_with 0
prints "12180.82 MiB  12180.82 MiB  equal"

run "$VRAMFIT" compare "$DATA/logs/062_ollama_ps_partial.log"
exits_with 1
prints_nothing
in_one_line

for unknown in "--quant foo" "--gpu foo"; do
    # shellcheck disable=SC2086 # two words
    run "$VRAMFIT" diagnose "$DATA/logs/24_fail_gemma27b_kv.log" $unknown
    exits_with 2
    prints_nothing
    in_one_line
    complains 'unknown'
done
