# sumi run: the same text whatever computes it, prompts from everywhere, output to anywhere.
# shellcheck shell=sh disable=SC1091,SC2154
. "$(dirname "$0")/checks.sh"

story() {
    run 0 "$SUMI" run -m "$MODEL" -p "Once upon a time" --temp 0 -n 60 "$@"
}

# One text from one request: repeated, on 1 to 3 threads, on every instruction set of this CPU.
story
cp "$out" "$work/story"
is_true "nothing but text when nobody watches" test ! -s "$err"
is_true "the story starts with the prompt" sh -c "head -c 16 '$work/story' | grep -q '^Once upon a time'"
is_true "the story goes on" test "$(wc -c <"$work/story")" -gt 80
for options in '' '-t 1' '-t 2' '-t 3' '--isa scalar' '--top-k 1 --seed 5' '--seed 17' '-c 128'; do
    # shellcheck disable=SC2086 # options are words
    story $options
    same "$out" "$work/story" "story with '$options'"
done
for isa in avx2 avx512 neon; do
    "$SUMI" run -m "$MODEL" -p "Once upon a time" --temp 0 -n 60 --isa $isa >"$out" 2>"$err"
    case $? in
    0) same "$out" "$work/story" "story with --isa $isa" ;;
    *) refused_with "$isa" ;; # this CPU or this build lacks it, and says so
    esac
done

# --no-echo prints the rest and no more.
story --no-echo
{ printf 'Once upon a time' && cat "$out"; } >"$work/joined"
same "$work/joined" "$work/story" "prompt and --no-echo"

# Seeds: equal ones agree, others do not.
for seed in 1 1 2; do
    run 0 "$SUMI" run -m "$MODEL" -p "Once upon a time" -n 40 --seed $seed
    [ -f "$work/seed$seed" ] && same "$out" "$work/seed$seed" "seed $seed twice"
    cp "$out" "$work/seed$seed"
done
is_true "seeds 1 and 2 differ" sh -c "! cmp -s '$work/seed1' '$work/seed2'"

# The prompt from a pipe, from -p - and from a file, each without its final newline.
echo "Once upon a time" >"$work/prompt"
for options in '' '-p -' '-f -'; do
    # shellcheck disable=SC2086
    run_with "$work/prompt" 0 "$SUMI" run -m "$MODEL" --temp 0 -n 60 $options
    same "$out" "$work/story" "prompt from stdin with '$options'"
done
run 0 "$SUMI" run -m "$MODEL" --temp 0 -n 60 -f "$work/prompt"
same "$out" "$work/story" "prompt from a file"

# Ends: -n 0, stop strings, end of text, a full context.
run 0 "$SUMI" run -m "$MODEL" -p "Once upon a time" -n 0
is_true "-n 0 prints the prompt" test "$(cat "$out")" = "Once upon a time"
word=$(sed 's/^Once upon a time//' "$work/story" | tr -cs 'a-zA-Z' '\n' | awk 'length($0) > 3 { n++ } n == 4 { print; exit }')
story --stop "$word"
is_true "nothing of the stop string '$word'" sh -c "! grep -q '$word' '$out'"
is_true "the text before it is kept" sh -c "head -c \$(wc -c <'$out') '$work/story' | cmp -s - '$out'"
run 0 "$SUMI" run -m "$MODEL" -p "Once upon a time" --temp 0 -c 32 --ignore-eos
is_true "a full context ends the text" test "$(wc -c <"$out")" -gt 32
run 1 "$SUMI" run -m "$MODEL" -p "Once upon a time there was a little girl" -c 4
refused_with 4
run 1 "$SUMI" run -m "$MODEL" -p "Once" -c 100000
refused_with 100000

# A question.
run 0 "$SUMI" run -m "$MODEL" --chat -p "Tell me a story about a dragon." --temp 0 -n 40
is_true "--chat answers" test "$(wc -c <"$out")" -gt 20
is_true "--chat does not repeat the question" sh -c "! grep -q 'Tell me' '$out'"
is_true "no control tokens" sh -c "! grep -qF '<|' '$out'"

# to FILE COMMAND...: the command with its stdout there; "&-": closed.
# shellcheck disable=SC2317 # called by run
to() {
    case $1 in
    '&-') shift && "$@" >&- ;;
    *) where=$1 && shift && "$@" >"$where" ;;
    esac
}

# A stdout that cannot be written to.
run 1 to '&-' "$SUMI" run -m "$MODEL" -p x -n 4
refused_with "stdout"
run 1 to '&-' "$SUMI" info "$MODEL"
refused_with "stdout"
if [ -w /dev/full ]; then
    run 1 to /dev/full "$SUMI" run -m "$MODEL" -p x -n 4
    refused_with "stdout"
fi
{ "$SUMI" run -m "$MODEL" -p "Once upon a time" --temp 0 --ignore-eos 2>"$work/pipe-error" </dev/null
    echo $? >"$work/pipe-status"; } | :
is_true "a closed pipe is status 1" test "$(cat "$work/pipe-status")" -eq 1
file_has "$work/pipe-error" "sumi: stdout"

finish
