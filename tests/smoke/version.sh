. ./lib.sh

run "$VRAMFIT" --version
exits_with 0
prints "vramfit 0."
complains_not
