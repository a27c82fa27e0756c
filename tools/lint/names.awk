# SPDX-License-Identifier: Apache-2.0
# names.awk - a static function carries its file's noun, so that a profile, a backtrace and grep name one place.
# Prints the static functions whose name is defined in more than three files. It fails where one of them is in a
# folder of the list `clean`; in the other folders they are counted only. Runs behind strip.awk and needs no ctags.
BEGIN { split(clean, list, " "); for (i in list) is_clean[list[i]] = 1 }
FNR == 1 { strip_reset(); head = "" }
{
    code = code_of($0)
    if (code ~ /^static[ \t]/) head = code
    else if (head != "") head = head " " code
    if (head ~ /[;={]/) { note(head); head = "" }
}
# A definition: "static ... name(...) {". A declaration ends in ";", and a variable has "=" before any "{".
function note(text,    name) {
    if (match(text, /[;={]/) && substr(text, RSTART, 1) != "{") return
    gsub(/__attribute__[ \t]*\(\([^{]*\)\)/, "", text)
    if (!match(text, /[A-Za-z_][A-Za-z0-9_]*[ \t]*\(/)) return
    name = substr(text, RSTART, RLENGTH)
    gsub(/[ \t(]/, "", name)
    if ((name, FILENAME) in seen) return
    seen[name, FILENAME] = 1
    if (files[name]++ == 0) names++
    where[name] = where[name] " " FILENAME
}
function folder(path,    part) { split(path, part, "/"); return part[2] }
END {
    for (name in files) {
        if (files[name] <= 3) continue
        shared++
        n = split(where[name], paths, " ")
        hit = ""
        for (i = 1; i <= n; i++) if (folder(paths[i]) in is_clean) hit = hit " " paths[i]
        if (hit == "") continue
        failed++
        print "  FAILED: " name " is a static function of " n " files, wanted at most 3:" hit
    }
    printf "  %d static names, %d shared by more than three files\n", names, shared
    printf "%d passed, %d failed, 0 skipped\n", names - failed, failed
    exit failed > 0
}
