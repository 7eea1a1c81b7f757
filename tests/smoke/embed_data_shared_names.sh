# Drivers call several cards by one name, so GPUs may share it; the search then asks which.
. ./lib.sh

mkdir "$work/data"
cat >"$work/data/gpus.json" <<'JSON'
{"gpus": [
  {"id": "rtx3060-8gb",  "vendor": "nvidia", "aliases": ["NVIDIA GeForce RTX 3060"]},
  {"id": "rtx3060-12gb", "vendor": "nvidia", "aliases": ["NVIDIA GeForce RTX 3060"]}
]}
JSON
run "$EMBED_DATA" "$work/data" "$work/out.cpp"
exits_with 0
complains_not
[ "$(grep -c '"nvidiageforcertx3060"' "$work/out.cpp")" = 2 ] || fail "both cards expected under the shared name"
