# Logits against recorded ones of an independent program.
# shellcheck shell=sh disable=SC1091,SC2154
. "$(dirname "$0")/checks.sh"

golden=$DATA/golden
sequence1=304
sequence2=201,220,288,186,249,268,72

# close FIRST_FLOAT TOLERANCE: $work/logits against the recorded floats from FIRST_FLOAT on.
close() {
    is_true "$name: logits within $2" "$COMPARE_F32" "$golden/$name.logits.f32" "$1" "$work/logits" "$2"
}

for name in qwen3-q1 qwen3-q2 qwen3-f16; do
    model=$golden/$name.gguf
    tokens=$(sed 's/.*"sequences": \[{"tokens": \[\([0-9, ]*\)\].*/\1/; s/ //g' "$golden/$name.json")
    run 0 "$SUMI" logits -m "$model" --tokens "$tokens" --exact -o "$work/logits"
    close 0 1e-5
    run 0 "$SUMI" logits -m "$model" --tokens "$tokens" -o "$work/logits"
    close 0 0.05
done

name=qwen3-q1
model=$golden/$name.gguf
run 0 "$SUMI" logits -m "$model" --tokens $sequence1 --exact -o "$work/logits"
close 0 1e-5
run 0 "$SUMI" logits -m "$model" --tokens $sequence2 --exact --all -o "$work/logits"
is_true "--all gives a row for each token" test "$(wc -c <"$work/logits")" -eq $((7 * 325 * 4))
close 325 1e-5

# stdout gets the same bytes, and --all ends with the row that comes without it, bit for bit.
run 0 "$SUMI" logits -m "$model" --tokens $sequence2 --exact --all
same "$out" "$work/logits" "stdout and -o"
tail -c 1300 "$out" >"$work/last"
run 0 "$SUMI" logits -m "$model" --tokens $sequence2 --exact
same "$out" "$work/last" "last row of --all"

# A refused request leaves no file, and an old one as it was.
echo old >"$work/kept"
run 1 "$SUMI" logits -m "$model" --tokens 1,325 -o "$work/kept"
refused_with 325
is_true "the old file is kept" test "$(cat "$work/kept")" = old
run 1 "$SUMI" logits -m "$model" --tokens 1 -o "$work/no/such/folder"
refused_with "no/such/folder"
is_true "no temporary files stay" test -z "$(find "$work" -name '*.tmp')"
run 0 "$SUMI" logits -m "$model" --tokens 1 -o /dev/null

finish
