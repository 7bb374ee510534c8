#!/bin/sh
# Build everything and run the tests. Arguments go to ctest:
#   ./test.sh -R text     only tests whose name contains "text"
#   ./test.sh -LE slow    without the slow ones
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
"$root/tools/build.sh"
exec ctest --test-dir "$root/build" --output-on-failure "$@"
