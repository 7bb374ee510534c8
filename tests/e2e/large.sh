# A file of the shape of an 8B model (1.16 GB, random weights): it loads and runs in little more memory than its
# weights take. Needs python3 with numpy and 1.2 GB of room in TMPDIR; without them it is skipped (status 77).
# shellcheck shell=sh disable=SC1091
. "$(dirname "$0")/checks.sh"

python=
for candidate in /usr/bin/python3 python3; do
    if "$candidate" -c 'import numpy' 2>/dev/null; then
        python=$candidate
        break
    fi
done
[ -n "$python" ] || { echo "skipped: no python3 with numpy"; exit 77; }
free_kib=$(df -Pk "$work" | awk 'NR == 2 { print $4 }')
[ "$free_kib" -gt 1500000 ] || { echo "skipped: $free_kib KiB of room in $work"; exit 77; }

run 0 "$python" "$(dirname "$0")/../../tools/make_synthetic.py" "$work/8b.gguf" --model 8b
run 0 "$PEAK_MEMORY" "$work/peak" "$SUMI" logits -m "$work/8b.gguf" --tokens 1,2,3 -o "$work/logits.f32"
is_true "a row of logits" test "$(wc -c <"$work/logits.f32")" -eq $((151936 * 4))
peak=$(cat "$work/peak")
echo "peak resident memory: $peak bytes"
is_true "peak memory $peak is below 1.35 GB" test "$peak" -lt 1350000000

finish
