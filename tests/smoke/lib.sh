# For the scripts beside it: `. ./lib.sh`. $VRAMFIT is the program, $EMBED_DATA the data generator, $DATA tests/data.
# Each script stops at its first failure and says what was expected.
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# run COMMAND...: keeps standard output, standard error and exit code for the checks below.
run() {
    shown="$*"
    code=0
    "$@" >"$work/out" 2>"$work/err" </dev/null || code=$?
}

fail() {
    echo "FAILED: $shown: $1"
    echo "exit code $code, standard output:"
    cat "$work/out"
    echo "standard error:"
    cat "$work/err"
    exit 1
}

exits_with() { [ "$code" = "$1" ] || fail "exit code $1 expected"; }
prints() { grep -qF -e "$1" "$work/out" || fail "'$1' expected on standard output"; }
prints_nothing() { [ ! -s "$work/out" ] || fail "nothing expected on standard output"; }
complains() { grep -qF -e "$1" "$work/err" || fail "'$1' expected on standard error"; }
complains_not() { [ ! -s "$work/err" ] || fail "nothing expected on standard error"; }
in_one_line() { [ "$(wc -l <"$work/err")" = 1 ] || fail "one line expected on standard error"; }
