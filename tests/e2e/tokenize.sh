# Text to ids and back.
# shellcheck shell=sh disable=SC1091,SC2154
. "$(dirname "$0")/checks.sh"

text='Once upon a time, "Grüße" 你好 🐉  end'
run 0 "$SUMI" tokenize -m "$MODEL" --json "$text"
ids=$(tr -d '[] \n' <"$out")
is_true "an array of ids" sh -c "echo '$ids' | grep -qE '^[0-9]+(,[0-9]+)+\$'"
run 0 "$SUMI" tokenize -m "$MODEL" --decode "$ids"
printf '%s' "$text" >"$work/text"
same "$out" "$work/text" "decode(encode(text))"

# The lines name the same ids, and their pieces joined are the text.
run 0 "$SUMI" tokenize -m "$MODEL" "$text"
is_true "ids of the lines" test "$(awk '{ printf "%s%s", (NR > 1 ? "," : ""), $1 }' "$out")" = "$ids"
run 0 "$SUMI" tokenize -m "$MODEL" "$(printf 'a\n\tb\\x')"
is_true "pieces are escaped" sh -c "grep -qF '\\n' '$out' && grep -qF '\\t' '$out' && grep -qF '\\\\' '$out'"

# stdin and -f give the same as the argument; every byte counts, the final newline too.
printf '%s\n' "$text" >"$work/line"
run_with "$work/line" 0 "$SUMI" tokenize -m "$MODEL" --json
cp "$out" "$work/stdin-ids"
run 0 "$SUMI" tokenize -m "$MODEL" --json -f "$work/line"
same "$out" "$work/stdin-ids" "-f and stdin"
run 0 "$SUMI" tokenize -m "$MODEL" --decode "$(tr -d '[] \n' <"$work/stdin-ids")"
same "$out" "$work/line" "decode(encode(line))"

# Control tokens are text unless --special asks for them.
run 0 "$SUMI" tokenize -m "$MODEL" '<|im_end|>'
n_plain=$(wc -l <"$out")
run 0 "$SUMI" tokenize -m "$MODEL" --special '<|im_end|>'
is_true "one id with --special, more without" test "$(wc -l <"$out")" -eq 1 -a "$n_plain" -gt 1
id=$(awk '{ print $1 }' "$out")
run 0 "$SUMI" tokenize -m "$MODEL" --decode "$id"
is_true "a control token is no text" test ! -s "$out"
run 0 "$SUMI" tokenize -m "$MODEL" --decode "$id" --special
file_has "$out" '<|im_end|>'

run 1 "$SUMI" tokenize -m "$MODEL" --decode 4096
refused_with 4096
run 0 "$SUMI" tokenize -m "$MODEL" --json ''
is_true "no ids for no text" test "$(cat "$out")" = "[]"

finish
