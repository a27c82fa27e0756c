# SPDX-License-Identifier: Apache-2.0
# repeats.awk - runs of 10 and more lines that stand in two places. Blank lines, braces and comments between
# them do not count, indentation neither. Kernels are left out by the caller: one per instruction set is wanted.
FNR == 1 { strip_reset(); held = 0; run = 0 }
{
    if (code_of($0) ~ /^[ \t{}();]*$/ || /^#include/) next
    text[held % 10] = $0
    gsub(/[ \t]+/, "", text[held % 10])
    line[held % 10] = FNR
    if (++held < 10) next
    window = ""
    for (i = 0; i < 10; i++) window = window "\n" text[(held + i) % 10]
    if (!(window in seen)) { seen[window] = FILENAME ":" line[held % 10]; run = 0; next }
    if (!run++) { print "  FAILED: repeats: " FILENAME ":" line[held % 10] " = " seen[window]; found++ }
}
END { printf "%d passed, %d failed, 0 skipped\n", !found, found }
