# Files: what info prints, files that are not models, names that are not Latin.
# shellcheck shell=sh disable=SC1091,SC2154
. "$(dirname "$0")/checks.sh"

run 0 "$SUMI" info "$MODEL"
for text in 'GGUF version 3' 'qwen3' 'Q1_0' '4096 tokens' 'with a chat template' 'general.architecture = "qwen3"'; do
    file_has "$out" "$text"
done
is_true "layers of the demonstration model" grep -qE '^layers +12$' "$out"
is_true "no tensors unless asked" sh -c "! grep -q token_embd.weight '$out'"
run 0 "$SUMI" info --tensors "$MODEL"
file_has "$out" "token_embd.weight"

run 0 "$SUMI" info --json "$MODEL"
file_has "$out" '"gguf_version": 3'
file_has "$out" '"name": "token_embd.weight"'
if command -v python3 >/dev/null; then
    is_true "info --json is JSON and consistent" python3 -c '
import json, os, sys
info = json.load(open(sys.argv[1]))
assert info["size_bytes"] == os.path.getsize(sys.argv[2])
assert len(info["keys"]["tokenizer.ggml.tokens"]) == 4096
assert info["n_params"] == sum(t["n_params"] for t in info["types"])
assert sum(t["n_tensors"] for t in info["types"]) == len(info["tensors"])
' "$out" "$MODEL"
fi
cp "$out" "$work/info"
run 0 "$SUMI" info --json
is_true "the demonstration model is found without -m" grep -q '"architecture": "qwen3"' "$out"

# Not models.
: >"$work/empty.gguf"
echo "this is no model" >"$work/text.gguf"
head -c 100000 "$MODEL" >"$work/cut.gguf"
for bad in empty text cut; do
    run 1 "$SUMI" info "$work/$bad.gguf"
    refused_with "$bad.gguf"
    run 1 "$SUMI" run -m "$work/$bad.gguf" -p x
    refused_with "$bad.gguf"
done
run 1 "$SUMI" info "$work"
refused_with "$work"
run 1 "$SUMI" info "$work/none.gguf"
refused_with "none.gguf"
run 1 "$SUMI" info --json "$work/cut.gguf"
refused_with "cut.gguf"

# Names.
odd="$work/mödel-模型-Д \"1\".gguf"
cp "$DATA/golden/qwen3-q1.gguf" "$odd"
run 0 "$SUMI" info "$odd"
file_has "$out" "mödel-模型-Д"
run 0 "$SUMI" info --json "$odd"
file_has "$out" 'mödel-模型-Д \"1\".gguf'
run 0 "$SUMI" logits -m "$odd" --tokens 1 -o "$work/行.f32"
is_true "325 logits" test "$(wc -c <"$work/行.f32")" -eq 1300

finish
