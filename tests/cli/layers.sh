#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# layers.sh - the check of the folders' order, on small trees: what it must find, directly and by way of headers.
# usage: tests/cli/layers.sh [PROGRAM]
. "$(dirname -- "$0")/lib.sh" || exit 1

mkdir -p tools/lint src/base src/task src/model src/session src/server
cp "$ROOT/tools/lint/layers" tools/lint/layers
# file PATH [INCLUDED...]
file() {
    path=src/$1 && shift
    : >"$path"
    for included; do printf '#include "%s"\n' "$included" >>"$path"; done
    echo '/* the end */' >>"$path"
}
file base/base.h
file task/task.h base/base.h
file model/model.h task/task.h
file session/session.h task/task.h
file server/loop.h session/session.h
file server/loop.c loop.h base/base.h
works "a tree in order" tools/lint/layers
has "all files" "6 passed, 0 failed"

file session/session.h model/model.h
fails "a model by way of two headers" "src/server/loop.c:1: server may see .* and not src/model/model.h, by way of src/server/loop.h, by way of src/session/session.h$" tools/lint/layers
has "and the header itself" "src/server/loop.h:1: server may see .* and not src/model/model.h, by way of src/session/session.h$"
has "session is not at fault" "4 passed, 2 failed"

file session/session.h task/task.h
file task/task.h session/session.h
fails "a later folder" "src/task/task.h:1: task must not see src/session/session.h, a later folder$" tools/lint/layers

file task/task.h ../base/base.h
fails "a path that climbs" 'src/task/task.h:1: include "../base/base.h" climbs' tools/lint/layers

file task/task.h base/base.h
mkdir src/strange && file strange/x.c base/base.h
fails "a folder that nobody knows" "src/strange/x.c:1: strange is no folder" tools/lint/layers
finish
