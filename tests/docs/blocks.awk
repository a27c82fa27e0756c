# SPDX-License-Identifier: Apache-2.0
# blocks.awk - cuts the fenced blocks of one page into files of the folder OUT, and prints a line for each: its number, what
# it is, where it begins, and a name or reason. What it is follows from the words behind the fence (tests/docs/run.sh
# has their list). A fence that says nothing about a shell command, and an indented block, are printed as "bad".

function bad(line, why) { print "000 bad " line " " why }

# The kind of a block by its fence; `rest` becomes its file name or reason.
function kind_of(info) {
    rest = ""
    if (info ~ /^sh (run|serve|terminal)$/) return substr(info, 4)
    if (info == "text output") return "output"
    if (info ~ /^sh not run: ./) { rest = substr(info, 13); return "not" }
    if (info ~ /^(sh|bash|shell|console)( |$)/) { bad(NR, "a shell block that is none of: sh run, sh terminal, sh serve, sh not run: REASON"); return "skip" }
    if (info ~ /^[a-z]+ [A-Za-z0-9_.\/-]+$/) { rest = info; sub(/^[a-z]+ /, "", rest); return "file" }
    return "plain"
}

!inside && match($0, /^ *```/) {
    indent = RLENGTH - 3
    info = substr($0, RLENGTH + 1)
    kind = kind_of(info)
    inside = 1
    number++
    path = sprintf("%s/%03d", OUT, number)
    printf "" >path
    if (kind != "plain" && kind != "skip") printf "%03d %s %d %s\n", number, kind, NR, rest
    next
}
inside && /^ *```$/ { inside = 0; close(path); blank = 0; next }
inside {
    line = $0
    if (substr(line, 1, indent) ~ /^ *$/) line = substr(line, indent + 1)
    print line >path
    if (kind == "plain" && line ~ /^(\$ )?(encoderfile|\.\/dev|curl|build\/encoderfile|\.\/[a-z-]+\.encoderfile|sudo|docker|kubectl) /)
        bad(NR, "a command in a block that is not a shell block: " line)
    next
}
# An indented block is code to Markdown as well, and nobody would run it; lists go on with an indent, too.
/^    [^ ]/ && blank && !list { bad(NR, "an indented block: use a fence") }
/^ *([-*]|[0-9]+\.) / { list = 1 }
/^[^ ]/ && !/^([-*]|[0-9]+\.) / { list = 0 }
{ blank = /^ *$/ }
END { if (inside) bad(NR, "a fence that is not closed") }
