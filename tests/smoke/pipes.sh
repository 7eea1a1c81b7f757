# Output that nobody reads is no error, output that cannot be written is one.
. ./lib.sh

# A reader that leaves at once: no message, and no death by signal.
run sh -c '{ "$VRAMFIT" models --json; echo "code $?" >&2; } | true'
complains "code 0"
in_one_line

# Standard output that was closed: the answer is lost, so nobody may take the exit code for one.
run sh -c '"$VRAMFIT" models >&-'
exits_with 2
in_one_line
complains "vramfit: cannot write the answer"

# Nothing to write, nothing to complain about.
run sh -c '"$VRAMFIT" -m llama3.1-8b --quant q4_k_m -c 32768 -g 24GB --quiet >&-'
exits_with 0
complains_not

if [ -w /dev/full ]; then
    run sh -c '"$VRAMFIT" models >/dev/full'
    exits_with 2
    in_one_line
    complains "vramfit: cannot write the answer"
fi

# A pipe gets what a file gets, without colours.
run sh -c '"$VRAMFIT" quants | cat'
prints "Q4_K_M"
if grep -q "$(printf '\033')" "$work/out"; then fail "no colours expected in a pipe"; fi
