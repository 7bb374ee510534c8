# Perplexity of the demonstration model on a text it was not trained on. 17.9715 is from an independent program in
# float64; the default mode's int8 activations may cost 0.3 percent.
# shellcheck shell=sh disable=SC1091,SC2154
. "$(dirname "$0")/checks.sh"

# within VALUE EXPECTED RELATIVE
within() {
    is_true "perplexity $1 within $3 of $2" awk -v a="$1" -v b="$2" -v r="$3" \
        'BEGIN { d = a > b ? a - b : b - a; exit !(a > 0 && d <= r * b) }'
}

text=$DATA/tales-eval.txt
run 0 "$SUMI" perplexity -m "$MODEL" -f "$text" --exact
is_true "one line" test "$(wc -l <"$out")" -eq 1
is_true "its form" grep -qE '^perplexity [0-9.]+ \+/- [0-9.]+ \([0-9]+ tokens scored, [0-9]+ windows of 512\)$' "$out"
exact=$(awk '{ print $2 }' "$out")
within "$exact" 17.9715 0.0005

run 0 "$SUMI" perplexity -m "$MODEL" -f "$text" -c 512 --json
fast=$(sed -n 's/.*"perplexity": *\([0-9.]*\).*/\1/p' "$out" | head -n 1)
within "$fast" "$exact" 0.003

# From a pipe, and a text that is too short.
head -c 4000 "$text" >"$work/short"
run_with "$work/short" 0 "$SUMI" perplexity -m "$MODEL" -c 64
file_has "$out" "windows of 64"
echo "Too short." >"$work/line"
run 1 "$SUMI" perplexity -m "$MODEL" -f "$work/line"
is_true "one line on stderr" test "$(wc -l <"$err")" -eq 1

finish
