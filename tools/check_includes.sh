#!/bin/sh
# Check the rules between the layers that no compiler checks:
#
#   includes   point down the list of layers only; apps/ see nothing but the public headers
#   calls      nothing below apps/ prints, ends the process or reads the environment; no unbounded string calls
#   headers    each compiles alone, the public ones as C11 and as C++17
#   symbols    every global symbol of the libraries starts with sumi_
#
# Usage: tools/check_includes.sh [BUILD_DIR]     BUILD_DIR holds a finished build; default: build
set -u
LC_ALL=C
export LC_ALL
cd "$(dirname "$0")/.." || exit 2
build=${1:-build}
cc=${CC:-cc}
cxx=${CXX:-c++}
status=0

fail() {
    printf '%s\n' "$*" >&2
    status=1
}

c_files() { # of the folders given
    find "$@" -type f \( -name '*.[ch]' -o -name '*.inc' -o -name '*.def' \) | sort
}

check_includes() {
    # shellcheck disable=SC2016 # the $ are awk's
    c_files src apps examples | xargs awk '
        function refuse(why) {
            printf "%s:%d: includes %s: %s\n", FILENAME, FNR, target, why
            bad = 1
        }
        BEGIN {
            # What a layer may include besides itself.
            below["base"] = " "
            below["quant"] = below["base"] "base "
            below["gguf"] = below["quant"] "quant "
            below["kernels"] = below["quant"] "quant "
            below["device"] = below["kernels"] "kernels "
            below["text"] = below["gguf"] "gguf "
            below["model"] = below["text"] "text kernels device "
            below["engine"] = below["model"] "model "
        }
        FNR == 1 { n_parts = split(FILENAME, part, "/") }
        !/^[ \t]*#[ \t]*include/ { next }
        {
            if (!match($0, /["<][^">]+[">]/)) next # a computed include, which the layers do not use
            quoted = substr($0, RSTART, 1) == "\""
            target = substr($0, RSTART + 1, RLENGTH - 2)
            is_public = target == "sumi.h" || target == "sumi_kernels.h"
            slash = index(target, "/")
        }
        !quoted && !is_public { next }
        part[1] != "src" {
            if (is_public) next
            own = FILENAME
            sub(/[^\/]*$/, target, own)
            if (slash || (getline line < own) < 0) refuse("only sumi.h, sumi_kernels.h and files of its own folder")
            close(own)
            next
        }
        is_public {
            if (target == "sumi.h" && part[2] != "model" && part[2] != "engine")
                refuse("sumi.h belongs to src/model and src/engine; below them include sumi_kernels.h")
            next
        }
        !slash { refuse("write it with its folder, from src/"); next }
        {
            layer = substr(target, 1, slash - 1)
            if (!(part[2] in below)) refuse("src/" part[2] " is not a known layer")
            else if (layer != part[2] && !index(below[part[2]], " " layer " "))
                refuse("src/" part[2] " must not know src/" layer)
        }
        END { exit bad }' >&2 || status=1
}

# Lines "FILE:LINE: CODE" with comments removed and the content of strings and characters blanked.
bare_code() {
    # shellcheck disable=SC2016 # the $ are awk's
    xargs awk '
        function strip(line,   out, i, c, two) {
            out = ""
            for (i = 1; i <= length(line); i++) {
                c = substr(line, i, 1)
                two = substr(line, i, 2)
                if (in_comment) {
                    if (two == "*/") { in_comment = 0; i++ }
                } else if (quote != "") {
                    if (c == "\\") i++
                    else if (c == quote) { quote = ""; out = out c }
                } else if (two == "/*") {
                    in_comment = 1
                    out = out " "
                    i++
                } else if (two == "//") {
                    break
                } else {
                    if (c == "\"" || c == "\047") quote = c
                    out = out c
                }
            }
            quote = ""
            return out
        }
        FNR == 1 { in_comment = 0 }
        { code = strip($0) }
        code ~ /[^ \t]/ { printf "%s:%d: %s\n", FILENAME, FNR, code }'
}

# refuse_words WHY PATTERN FOLDER...: no line of code may match PATTERN as a word.
refuse_words() {
    why=$1
    pattern=$2
    shift 2
    found=$(c_files "$@" | bare_code | grep -E ":[0-9]+:.*[^A-Za-z0-9_]($pattern)") || return 0
    fail "$found"
    fail "  ^ $why"
}

check_calls() {
    refuse_words 'a library reports a status; only apps/ end the process' \
        '(abort|exit|_exit|_Exit|quick_exit)[ \t]*\(' src
    refuse_words 'a library does not print; only apps/ do' \
        '(printf|vprintf|puts|putchar|perror)[ \t]*\(|(stdout|stderr)([^A-Za-z0-9_]|$)' src
    refuse_words 'a library does not read the environment' \
        '(getenv|secure_getenv|setenv|putenv)[ \t]*\(|environ([^A-Za-z0-9_]|$)' src
    refuse_words 'use a bounded or checked call' \
        '(strcpy|stpcpy|strcat|sprintf|vsprintf|gets|atoi|atol|atoll|atof)[ \t]*\(' src apps examples tests
}

# alone COMPILER FLAGS... -- HEADER: a unit that consists of this header compiles.
alone() {
    header=$1
    shift
    printf '#include "%s"\n' "$header" | "$@" -Wall -Wextra -Werror -Iinclude -fsyntax-only - ||
        fail "$header does not compile alone: $*"
}

check_headers() {
    for path in include/*.h; do
        alone "${path#include/}" "$cc" -x c -std=c11 -pedantic
        alone "${path#include/}" "$cxx" -x c++ -std=c++17 -pedantic
    done
    for path in src/*/*.h; do
        alone "${path#src/}" "$cc" -x c -std=c17 -D_GNU_SOURCE -DSUMI_BUILD -Isrc -Wno-unused-function
    done
}

check_symbols() {
    set -- "$build"/src/lib*.a
    if [ ! -e "$1" ]; then
        fail "$build/src: no libraries; build first: cmake -G Ninja -B $build && ninja -C $build"
        return
    fi
    for library in "$@"; do
        others=$(nm -g --defined-only "$library" 2>/dev/null | awk 'NF == 3 && $3 !~ /^_?sumi_/ { print $3 }')
        [ -z "$others" ] || fail "$library: global symbols without the prefix sumi_: $(echo "$others" | tr '\n' ' ')"
    done
}

check_includes
check_calls
check_headers
check_symbols
[ "$status" -eq 0 ] && echo "includes, calls, headers and symbols: as agreed"
exit "$status"
