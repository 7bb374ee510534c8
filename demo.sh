#!/bin/sh
# Build sumi and let the demonstration model tell a story. Arguments go to `sumi run`:
#   ./demo.sh --seed 7
#   ./demo.sh -p "The little dragon"
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
"$root/tools/build.sh" sumi
exec "$root/build/sumi" run -m "$root/models/sumi-tales-40m-q1_0.gguf" -p "Once upon a time" --seed 11 "$@"
