# SPDX-License-Identifier: Apache-2.0
# strip.awk - code_of(line): the line without comments and without what stands in quotes, so that words in
# prose are not taken for calls. Call it on every line in order, and strip_reset() on the first of a file.
function strip_reset() { in_comment = 0 }

function code_of(line,    out, i, n, c, two, quote) {
    out = ""
    n = length(line)
    held_comment = in_comment
    for (i = 1; i <= n; i++) {
        c = substr(line, i, 1)
        two = substr(line, i, 2)
        if (in_comment) {
            if (two == "*/") { in_comment = 0; i++ }
        } else if (quote != "") {
            if (c == "\\") i++
            else if (c == quote) { quote = ""; out = out c }
        } else if (two == "/*") {
            in_comment = held_comment = 1
            i++
        } else if (two == "//") {
            held_comment = 1
            break
        } else {
            if (c == "\"" || c == "'") quote = c
            out = out c
        }
    }
    return out
}
