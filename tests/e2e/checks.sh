# checks.sh - sourced by every test here. A check that fails prints what was expected and what came; the script goes
# on, and `finish` gives its exit status. Needs SUMI, MODEL, DATA, COMPARE_F32 and DRIVE_PTY in the environment.
# shellcheck shell=sh
set -u
: "${SUMI:?}" "${MODEL:?}" "${DATA:?}" "${COMPARE_F32:?}" "${DRIVE_PTY:?}"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
out=$work/stdout
err=$work/stderr
n_checks=0
n_failed=0

# A history of the user's must not be touched.
XDG_STATE_HOME=$work/state
export XDG_STATE_HOME

failed() {
    n_failed=$((n_failed + 1))
    echo "FAILED: $*" >&2
}

# run STATUS COMMAND...: run with stdin empty; stdout and stderr go to $out and $err; check the exit status.
run() {
    run_with /dev/null "$@"
}

# run_with FILE STATUS COMMAND...: the same with stdin from a file.
run_with() {
    input=$1
    expected=$2
    shift 2
    n_checks=$((n_checks + 1))
    status=0
    "$@" <"$input" >"$out" 2>"$err" || status=$?
    [ "$status" -eq "$expected" ] || {
        failed "status $status instead of $expected: $*"
        sed 's/^/  stderr: /' "$err" >&2
    }
}

# The last command printed nothing on stdout and on stderr one line that starts with "sumi: " and contains TEXT.
refused_with() {
    n_checks=$((n_checks + 1))
    [ ! -s "$out" ] || failed "something on stdout next to an error: $(head -n 1 "$out")"
    [ "$(wc -l <"$err")" -eq 1 ] || failed "not one line on stderr: $(cat "$err")"
    grep -q '^sumi: ' "$err" || failed "no 'sumi: ' on stderr: $(cat "$err")"
    grep -qF -- "$1" "$err" || failed "'$1' is not on stderr: $(cat "$err")"
}

# file_has FILE TEXT
file_has() {
    n_checks=$((n_checks + 1))
    grep -qF -- "$2" "$1" || {
        failed "'$2' is not in the output:"
        sed 's/^/  /' "$1" | head -n 20 >&2
    }
}

# same FILE FILE WHAT
same() {
    n_checks=$((n_checks + 1))
    cmp -s "$1" "$2" || {
        failed "$3: differs"
        diff "$1" "$2" | head -n 10 >&2
    }
}

# is_true WHAT COMMAND...
is_true() {
    what=$1
    shift
    n_checks=$((n_checks + 1))
    "$@" || failed "$what"
}

finish() {
    echo "$n_checks checks, $n_failed failed"
    [ "$n_checks" -gt 0 ] && [ "$n_failed" -eq 0 ]
    exit
}
