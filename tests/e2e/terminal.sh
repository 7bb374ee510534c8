# What people at a terminal see: Ctrl-C, the speed line, editing and history in chat.
# shellcheck shell=sh disable=SC1091,SC2154
. "$(dirname "$0")/checks.sh"

# Ctrl-C while a text is printed: the line ends, the speed line comes, the status tells.
run 130 "$DRIVE_PTY" 'wait:Once upon a time ' 'key:3' -- \
    "$SUMI" run -m "$MODEL" -p "Once upon a time" --temp 0 --ignore-eos -t 1 --isa scalar
file_has "$out" "tokens/s"

# A whole run ends with the speed line.
run 0 "$DRIVE_PTY" -- "$SUMI" run -m "$MODEL" -p "Once upon a time" --seed 5 -n 8
file_has "$out" "answer: 8 tokens"
file_has "$out" "seed 5"

# Raw numbers do not go to a terminal.
run 2 "$DRIVE_PTY" -- "$SUMI" logits -m "$MODEL" --tokens 1
file_has "$out" "give -o FILE"

# A prompt is asked for, not waited for.
run 2 "$DRIVE_PTY" -- "$SUMI" run -m "$MODEL"
file_has "$out" "no text"

# Chat: a turn, Ctrl-C at the prompt, Ctrl-D.
run 0 "$DRIVE_PTY" 'wait:> ' edit 'send:Tell me a story.' 'key:13' 'wait:tokens/s' 'wait:> ' edit 'send:half a line' 'key:3' \
    'wait:/exit leaves' 'wait:> ' edit 'key:4' -- "$SUMI" chat -m "$MODEL" --temp 0 -n 10
is_true "the history is kept" grep -q 'Tell' "$XDG_STATE_HOME/sumi/history"
is_true "the history is private" test -z "$(find "$XDG_STATE_HOME/sumi/history" -perm /077)"

# Chat: Ctrl-C stops the answer and nothing else.
run 0 "$DRIVE_PTY" 'wait:> ' edit 'send:Tell me a long story about a dragon.' 'key:13' 'wait:Once upon' 'key:3' \
    'wait:tokens/s' 'wait:> ' edit 'send:/exit' 'key:13' -- "$SUMI" chat -m "$MODEL" --temp 0 -t 1 --isa scalar

# Chat: arrow up brings back the last line of the earlier session.
run 0 "$DRIVE_PTY" 'wait:> ' edit 'key:27' 'send:[A' 'wait:/exit' 'key:13' -- "$SUMI" chat -m "$MODEL"

finish
