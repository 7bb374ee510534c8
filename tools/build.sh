#!/bin/sh
# Install what is missing and build the given targets (default: all) in build/. Quiet unless something fails.
# demo.sh and test.sh start with this; it is safe to run again at any time.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
build=$root/build

fail() {
    echo "$*" >&2
    exit 1
}

has_command() { command -v "$1" >/dev/null 2>&1; }
has_library() { has_command pkg-config && pkg-config --exists "$1"; }

# The Debian and Ubuntu packages that would supply what is not there.
missing_packages() {
    has_command "${CC:-cc}" || echo build-essential
    has_command cmake || echo cmake
    has_command ninja || echo ninja-build
    has_command pkg-config || echo pkg-config
    has_library jansson || echo libjansson-dev
    has_library libedit || echo libedit-dev
    has_library libpcre2-8 || echo libpcre2-dev
    has_library cmocka || echo libcmocka-dev
}

install_packages() {
    has_command apt-get ||
        fail "Missing (names of the Debian packages): $*. Install them and run this again."
    as_root=
    if [ "$(id -u)" -ne 0 ]; then
        has_command sudo || fail "Missing packages: $*. Install them as root and run this again."
        as_root=sudo
    fi
    echo "Installing $*" >&2
    $as_root apt-get update -q >&2 || echo "apt-get update failed; trying with the lists there are" >&2
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@" >&2 ||
        fail "apt-get could not install: $*"
}

check_cmake_version() {
    version=$(cmake --version | sed -n '1s/^cmake version \([0-9.]*\).*/\1/p')
    major=${version%%.*}
    minor=${version#*.}
    minor=${minor%%.*}
    [ "$major" -gt 3 ] || { [ "$major" -eq 3 ] && [ "$minor" -ge 25 ]; } ||
        fail "cmake $version is too old: 3.25 or newer is needed (Debian 12, Ubuntu 24.04, or https://cmake.org/download)."
}

# Run a command; show what it printed only when it fails.
quietly() {
    log=$(mktemp)
    if ! "$@" >"$log" 2>&1; then
        cat "$log" >&2
        rm -f "$log"
        fail "Failed: $*"
    fi
    rm -f "$log"
}

packages=$(missing_packages)
# shellcheck disable=SC2086 # one word per package is what is wanted
[ -z "$packages" ] || install_packages $packages
check_cmake_version

[ -x "$build/sumi" ] || echo "Building sumi in $build" >&2
[ -f "$build/build.ninja" ] || quietly cmake -G Ninja -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=Release
if [ $# -gt 0 ]; then
    quietly cmake --build "$build" --target "$@"
else
    quietly cmake --build "$build"
fi
