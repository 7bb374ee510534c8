# sumi chat with lines from a pipe.
# shellcheck shell=sh disable=SC1091,SC2154
. "$(dirname "$0")/checks.sh"

chat() {
    run_with "$work/lines" "$@"
}

# Two turns: two answers, nothing else on stdout, nothing on stderr.
printf 'Tell me a story about a dragon.\n/save %s\n' "$work/one.json" >"$work/lines"
chat 0 "$SUMI" chat -m "$MODEL" --temp 0 -n 30
cp "$out" "$work/first"
is_true "an answer" test "$(wc -c <"$work/first")" -gt 20
is_true "no prompt decoration" sh -c "! grep -q '^> ' '$work/first'"
file_has "$work/one.json" '"content": "Tell me a story about a dragon."'

printf 'Tell me a story about a dragon.\nTell me another one.\n/save %s\n' "$work/two.json" >"$work/lines"
chat 0 "$SUMI" chat -m "$MODEL" --temp 0 -n 30
is_true "two turns give more than one" test "$(wc -c <"$out")" -gt "$(wc -c <"$work/first")"
is_true "the first answer is the same" sh -c "head -c \$(wc -c <'$work/first') '$out' | cmp -s - '$work/first'"
is_true "four messages" test "$(grep -c '"role"' "$work/two.json")" -eq 4

# The same question after /clear gets the same answer; the one from `run --chat` too.
printf 'Tell me a story about a dragon.\n/clear\nTell me a story about a dragon.\n' >"$work/lines"
chat 0 "$SUMI" chat -m "$MODEL" --temp 0 -n 30
cat "$work/first" "$work/first" >"$work/twice"
same "$out" "$work/twice" "question, /clear, question"
run 0 "$SUMI" run -m "$MODEL" --chat --temp 0 -n 30 -p "Tell me a story about a dragon."
echo >>"$out"
same "$out" "$work/first" "chat and run --chat"

# /regen draws again, from the next seed; one seed repeats the whole conversation.
printf 'Tell me a story.\n/regen\n/save %s\n' "$work/regen.json" >"$work/lines"
chat 0 "$SUMI" chat -m "$MODEL" --seed 3 -n 30
cp "$out" "$work/drawn"
is_true "/regen replaces the answer" test "$(grep -c '"role"' "$work/regen.json")" -eq 2
chat 0 "$SUMI" chat -m "$MODEL" --seed 3 -n 30
same "$out" "$work/drawn" "one seed, one conversation"

# The rest of the commands; what follows /exit is not read.
printf '/help\n/nonsense\n/system You are brief.\nHello.\n/save %s\n/exit\nHello.\n' "$work/system.json" >"$work/lines"
chat 0 "$SUMI" chat -m "$MODEL" --temp 0 -n 10
file_has "$err" "/regen"
file_has "$err" "/nonsense is no command"
file_has "$work/system.json" '"content": "You are brief."'
is_true "three messages" test "$(grep -c '"role"' "$work/system.json")" -eq 3

# Trouble shows in the exit status and does not stop the lines that follow.
long=$(awk 'BEGIN { for (i = 0; i < 200; i++) printf "word " }')
printf '%s\nTell me a story about a dragon.\n' "$long" >"$work/lines"
chat 1 "$SUMI" chat -m "$MODEL" --temp 0 -n 30 -c 128
same "$out" "$work/first" "the turn after a too long one"
file_has "$err" "/clear"
printf '/save %s/no/folder.json\n' "$work" >"$work/lines"
chat 1 "$SUMI" chat -m "$MODEL"
file_has "$err" "no/folder.json"

: >"$work/lines"
chat 0 "$SUMI" chat -m "$MODEL"
is_true "no lines, no answers" test ! -s "$out"

finish
