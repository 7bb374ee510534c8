# Wrong use: exit status 2 and one line that names what is wrong.
# shellcheck shell=sh disable=SC1091,SC2154
. "$(dirname "$0")/checks.sh"

run 0 "$SUMI"
file_has "$out" "usage: sumi COMMAND"
cp "$out" "$work/help"
run 0 "$SUMI" -h
same "$out" "$work/help" "sumi and sumi -h"
run 0 "$SUMI" --version
is_true "--version is 'sumi X.Y.Z'" grep -qE '^sumi [0-9]+\.[0-9]+\.[0-9]+$' "$out"

for command in run chat info tokenize logits perplexity bench; do
    file_has "$work/help" "  $command "
    run 0 "$SUMI" "$command" -h
    file_has "$out" "usage: sumi $command"
    is_true "$command -h says nothing on stderr" test ! -s "$err"
    is_true "$command -h fits 90 columns" awk 'length > 90 { exit 1 }' "$out"
    run 2 "$SUMI" "$command" --no-such-option
    refused_with "unknown option '--no-such-option'"
done

# A model that is not there, once the rest is right.
for words in 'run -p x' chat info 'tokenize x' 'logits --tokens 1' "perplexity -f $0" bench; do
    # shellcheck disable=SC2086 # words are words
    run 1 "$SUMI" $words -m "$work/missing.gguf"
    refused_with "missing.gguf"
done

run 0 "$SUMI" run -h
file_has "$out" "default: 0.8"
file_has "$out" "0 to 100"

run 2 "$SUMI" rum
refused_with "did you mean 'run'?"
run 2 "$SUMI" zzzzzz
refused_with "unknown command 'zzzzzz'"
run 2 "$SUMI" -m x
refused_with "unknown option '-m'"
run 2 "$SUMI" run --tmp 1
refused_with "did you mean '--temp'?"
run 2 "$SUMI" run --temp
refused_with "--temp needs a value"
run 2 "$SUMI" run --temp=warm
refused_with "'warm' is not a number"
run 2 "$SUMI" run --temp nan
refused_with "'nan' is not a number"
run 2 "$SUMI" run --temp -1
refused_with "-1 is outside 0 to 100"
run 2 "$SUMI" run --top-p 1.5
refused_with "1.5 is outside 0 to 1"
run 2 "$SUMI" run -n 1.5
refused_with "'1.5' is not a whole number"
run 2 "$SUMI" run -n 99999999999
refused_with "99999999999 is outside -1 to 2147483647"
run 2 "$SUMI" run -t ''
refused_with "'' is not a whole number"
run 2 "$SUMI" run --seed -2
refused_with "'-2' is neither"
run 2 "$SUMI" run --isa sse9
refused_with "'sse9' is none of scalar|avx2|avx512|neon"
run 2 "$SUMI" run --isa avx
refused_with "'avx' is none of"
run 2 "$SUMI" run --exact=1
refused_with "--exact takes no value"
run 2 "$SUMI" run --stop ''
refused_with "--stop: the text is empty"
run 2 "$SUMI" run extra
refused_with "unexpected argument 'extra'"
run 2 "$SUMI" run --system x -p y
refused_with "--system needs --chat"
run 2 "$SUMI" run -p a -f b
refused_with "give only one"
run 2 "$SUMI" logits
refused_with "--tokens"
run 2 "$SUMI" logits --tokens 1,,2
refused_with "not a list of whole numbers"
run 2 "$SUMI" logits --tokens 1,-2
refused_with "-2 is outside"
run 2 "$SUMI" tokenize --decode 1 text
refused_with "--decode takes no text"
run 2 "$SUMI" perplexity -c 3 -f x
refused_with "3 is outside 4 to"
run 2 "$SUMI" bench -p 0 -n 0
refused_with "nothing to measure"
run 2 "$SUMI" bench -r 0
refused_with "0 is outside 1 to"
run 2 "$SUMI" "$(printf 'two\nlines')"
refused_with "two?lines"

finish
