# sumi bench: llama-bench's table and fields.
# shellcheck shell=sh disable=SC1091,SC2154
. "$(dirname "$0")/checks.sh"

model=$DATA/golden/qwen3-q1.gguf
run 0 "$SUMI" bench -m "$model" -p 16,32 -n 4 -d 0,8 -r 2 -t 1
is_true "head, rule and six rows" test "$(wc -l <"$out")" -eq 8
is_true "eight cells everywhere" awk -F'|' 'NF != 9 { exit 1 }' "$out"
for test_name in 'pp16' 'pp32' 'tg4' 'pp16 @ d8' 'pp32 @ d8' 'tg4 @ d8'; do
    file_has "$out" " $test_name |"
done
file_has "$out" "±"

run 0 "$SUMI" bench -m "$model" -p 16 -n 4 -r 3 -t 1 --json
for field in build_commit cpu_info backends model_filename model_type model_size model_n_params n_threads n_prompt n_gen \
    n_depth test_time avg_ns stddev_ns avg_ts stddev_ts samples_ns samples_ts; do
    is_true "$field in both objects" test "$(grep -c "\"$field\":" "$out")" -eq 2
done
if command -v python3 >/dev/null; then
    is_true "bench --json adds up" python3 -c '
import json, sys
rows = json.load(open(sys.argv[1]))
assert [(r["n_prompt"], r["n_gen"]) for r in rows] == [(16, 0), (0, 4)]
for r in rows:
    assert len(r["samples_ns"]) == len(r["samples_ts"]) == 3 and r["n_threads"] == 1
    assert abs(r["avg_ns"] - sum(r["samples_ns"]) / 3) < 1
    n = r["n_prompt"] + r["n_gen"]
    assert all(abs(ts - n * 1e9 / ns) < 1e-6 * ts for ts, ns in zip(r["samples_ts"], r["samples_ns"]))
' "$out"
fi

run 1 "$SUMI" bench -m "$model" -p 0 -n 4 -d 100000
is_true "one line on stderr" test "$(wc -l <"$err")" -eq 1

finish
