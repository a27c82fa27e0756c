# SPDX-License-Identifier: Apache-2.0
# style.awk - the tree in one row of figures. Reads first the tags of ctags (name, file, line:, end:, signature:),
# then the sources. Exempt from the sizes: Unicode tables. A comment line is one that carries a comment.
function sort(a, n,    i, j, gap, v) { # shell sort: mawk has none
    for (gap = int(n / 2); gap > 0; gap = int(gap / 2))
        for (i = gap + 1; i <= n; i++) {
            v = a[i]
            for (j = i; j > gap && a[j - gap] > v; j -= gap) a[j] = a[j - gap]
            a[j] = v
        }
}
function at(a, n, share) { return n ? a[int((n - 1) * share) + 1] : 0 }
function three(a, n) { return at(a, n, 0.5) "/" at(a, n, 0.9) "/" at(a, n, 1) }
function field(name,    i) {
    for (i = 4; i <= NF; i++) if (index($i, name ":") == 1) return substr($i, length(name) + 2)
    return ""
}
# "(Arena *arena, bool (*run)(int, int))" has two: a comma inside a parameter's own parentheses does not count.
function parameters(s,    i, c, depth, n) {
    if (s == "(void)" || s == "()" || s == "") return 0
    n = 1
    for (i = 1; i <= length(s); i++) {
        c = substr(s, i, 1)
        if (c == "(") depth++
        else if (c == ")") depth--
        else if (c == "," && depth == 1) n++
    }
    return n
}
function close_file() { if (rows && counted) sizes[++files] = rows }

pass == "tags" {
    if ($2 ~ /unicode_tables/) next
    lines[++functions] = field("end") - field("line") + 1
    if (lines[functions] > 60) { over60++; print "  over 60: " $2 ":" field("line") " " $1 " " lines[functions] }
    params[functions] = parameters(field("signature"))
    if (params[functions] > 7) print "  over 7 parameters: " $2 ":" field("line") " " $1
    if (lines[functions] > 80 || params[functions] > 9) {
        failed++
        print "  FAILED: " $2 ":" field("line") ": " $1 " has " lines[functions] " lines and " params[functions] \
            " parameters, wanted at most 80 and 9"
    }
    static += field("file") != "" || / file:/ || /\tfile:/
    next
}
FNR == 1 {
    close_file()
    strip_reset()
    rows = 0
    counted = FILENAME ~ /\.c$/ && FILENAME !~ /unicode_tables/
}
FILENAME ~ /unicode_tables/ { next }
{
    rows++
    total++
    code_of($0)
    comments += held_comment
    filled += $0 !~ /^[ \t]*$/
    ifs += /^[ \t]*#[ \t]*if/ && !/#ifndef [A-Z0-9_]*_H$/
}
END {
    close_file()
    sort(sizes, files)
    sort(lines, functions)
    sort(params, functions)
    print "| | files | file med/p90/max | functions | fn med/p90/max | fn > 60 | params p90/max | comment | #if/kloc |"
    print "|---|---|---|---|---|---|---|---|---|"
    printf "| this tree | %d | %s | %d (%.0f%% static) | %s | %.1f%% | %d/%d | %.0f%% | %.1f |\n", files,
        three(sizes, files), functions, functions ? 100 * static / functions : 0, three(lines, functions),
        functions ? 100 * over60 / functions : 0, at(params, functions, 0.9), at(params, functions, 1),
        filled ? 100 * comments / filled : 0, total ? 1000 * ifs / total : 0
    print "| wanted | | 250/600/1000 | | 12/45/80 | < 4% | 5/7 | 15-25% | < 3 |"
    printf "%d lines of C and headers\n", total
    printf "%d passed, %d failed, 0 skipped\n", functions - failed, failed
}
