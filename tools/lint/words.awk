# SPDX-License-Identifier: Apache-2.0
# words.awk - what belongs to a few files only: allocation, goto and last words to base, printing and exit to the
# command line, conditional compilation to the files that know a platform. Runs behind strip.awk.
function calls(code, name) { return code ~ ("(^|[^A-Za-z0-9_.>])(" name ")[ \t]*\\(") }
function bad(what) { print "  FAILED: " FILENAME ":" FNR ": " what; failed++ }

FNR == 1 {
    files++
    strip_reset()
    split(FILENAME, part, "/")
    base = part[2] == "base"
    cli = part[2] == "cli"
    header = FILENAME ~ /\.h$/
    platform = FILENAME ~ /^src\/(base\/os_[a-z0-9]*\.c|base\/cpu\.c|kernels\/select\.c)$/
}
{
    code = code_of($0)
    if (length($0) > 120) bad("line of " length($0) " columns (over 120)")
    else if (length($0) > 100) long++
}
!base && code ~ /(^|[^A-Za-z0-9_])goto([^A-Za-z0-9_]|$)/ { bad("goto outside base") }
!base && calls(code, "malloc|calloc|realloc|free|strdup") { bad("malloc and friends outside base: use an arena") }
!cli && !base && calls(code, "printf|fprintf|puts|fputs|putchar|perror") {
    bad("prints below cli: return an error, or use log_*")
}
!cli && calls(code, "exit|_exit") { bad("exit below cli") }
/^[ \t]*#[ \t]*if/ && !platform {
    guard = header && /#ifndef [A-Z0-9_]*_H$/
    if (!guard && !/__cplusplus/) bad("conditional compilation outside base/os_*.c, base/cpu.c, kernels/select.c")
}
END {
    printf "  %d lines over 100 columns\n%d passed, %d failed, 0 skipped\n", long, files, failed
    exit failed > 0
}
