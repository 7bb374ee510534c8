#!/bin/sh
# Static checks: clang-tidy (.clang-tidy), cppcheck, shellcheck. A tool that is not installed is named and fails.
#
# Usage: tools/lint.sh [BUILD_DIR]     BUILD_DIR is a configured build (its compile_commands.json); default: build
set -u
cd "$(dirname "$0")/.." || exit 2
build=${1:-build}
jobs=$(nproc 2>/dev/null || echo 2)
status=0

have() {
    command -v "$1" >/dev/null 2>&1 && return 0
    echo "$1 is not installed" >&2
    status=1
    return 1
}

if [ ! -f "$build/compile_commands.json" ]; then
    echo "$build/compile_commands.json: missing; configure first: cmake -G Ninja -B $build" >&2
    exit 2
fi

# Sources that this build compiles, so that files of other processors are left out.
sources=$(sed -n 's/^ *"file": "\(.*\)",*$/\1/p' "$build/compile_commands.json" | grep -E '/(src|apps)/' |
    grep -v '/base/status\.c$' | sort -u) # status.c defines what tools/lint_status.h makes a macro

if have clang-tidy; then
    # Its other output only counts the warnings that it did not show.
    echo "$sources" | xargs -P "$jobs" -n 4 clang-tidy -p "$build" --quiet \
        --extra-arg=-include --extra-arg="$PWD/tools/lint_status.h" 2>/dev/null || status=1
fi

if have cppcheck; then
    # normalCheckLevelMaxBranches and missingIncludeSystem only report how cppcheck itself works; invalidPointerCast
    # objects to typed views of device memory, whose alignment sumi_check_view tests at run time; memleak does not see a
    # pointer stored through a compound literal (leaks are the business of clang-tidy, valgrind and ASan).
    cppcheck --std=c11 --language=c --enable=warning,portability --inline-suppr --error-exitcode=1 --quiet -j "$jobs" \
        --suppress=missingIncludeSystem --suppress=normalCheckLevelMaxBranches \
        --suppress=invalidPointerCast --suppress=memleak -D_GNU_SOURCE -DSUMI_BUILD \
        -D__x86_64__ -Iinclude -Isrc src apps || status=1
fi

if have shellcheck; then
    # Every tracked or new shell script, by its first line.
    find . -path ./.git -prune -o -name 'build*' -prune -o -type f -size -100k -exec grep -lE \
        -m1 '^#!(/bin/sh|/bin/bash|/usr/bin/env (ba)?sh)' {} + | xargs shellcheck || status=1
fi

[ "$status" -eq 0 ] && echo "lint: clean"
exit "$status"
