# A mistake in data/ stops the build with one line: the file, the entry, what is wrong.
. ./lib.sh

data=$work/data

# wrong TEXT: the generator refuses what lies in $data and says TEXT.
wrong() {
    run "$EMBED_DATA" "$data" "$work/out.cpp"
    exits_with 1
    in_one_line
    complains "$1"
    rm -rf "$data"
    mkdir -p "$data/models"
}
mkdir -p "$data/models"

printf '{\n  "family": "a",\n  "models": [\n    {"id": "x",}\n  ]\n}\n' >"$data/models/a.json"
wrong "data/models/a.json:4: "

echo '{"family": "a", "models": [{"id": "x", "id": "y"}]}' >"$data/models/a.json"
wrong 'data/models/a.json: the key "id" stands twice in one object'

echo '{"models": [{"id": "x"}]}' >"$data/models/a.json"
wrong 'data/models/a.json: "family" is missing'

echo '{"family": "a", "models": [{"id": "x"}, {"name": "y"}]}' >"$data/models/a.json"
wrong 'data/models/a.json: models[1]: "id" is missing'

echo '{"family": "a", "models": [{"id": "x", "aliases": ["y", 3]}]}' >"$data/models/a.json"
wrong 'data/models/a.json: x: "aliases" must be a list of texts, not 3'

echo '{"family": "a", "models": [{"id": "x", "aliases": ["--"]}]}' >"$data/models/a.json"
wrong 'the name "--" holds no letter or digit'

echo '{"family": "a", "models": [{"id": "x"}]}' >"$data/models/a.json"
echo '{"family": "b", "models": [{"id": "x"}]}' >"$data/models/b.json"
wrong 'the id "x" stands twice, also in data/models/'

echo '{"family": "a", "models": [{"id": "x", "aliases": ["org/X"]}]}' >"$data/models/a.json"
echo '{"family": "b", "models": [{"id": "y", "aliases": ["org/X"]}]}' >"$data/models/b.json"
wrong 'data/models/b.json: the name "org/X" of y also names x (data/models/a.json)'

# An alias may not be another model's id either, whichever comes first.
echo '{"family": "a", "models": [{"id": "x", "aliases": ["y"]}, {"id": "y"}]}' >"$data/models/a.json"
wrong 'the name "y" of x also names y'

echo '{"gpus": [{"id": "card"}]}' >"$data/gpus.json"
wrong 'data/gpus.json: card: "vendor" is missing'

echo '[]' >"$data/gpus.json"
wrong 'data/gpus.json: must be an object with a list "gpus"'

run "$EMBED_DATA" "$work/nowhere" "$work/out.cpp"
exits_with 1
in_one_line
complains "is not a folder"
