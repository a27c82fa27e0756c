# SPDX-License-Identifier: Apache-2.0
# names.awk - a static function carries its file's noun, so that a profile, a backtrace and grep name one place, and a
# type has one meaning. Prints static functions whose name is defined in more than three files, and types that two
# folders define. It fails where a folder of the list `clean` takes part (in a type: two of them); the rest is counted
# only. Runs behind strip.awk and needs no ctags.
BEGIN { split(clean, list, " "); for (i in list) is_clean[list[i]] = 1 }
FNR == 1 { strip_reset(); head = ""; split(FILENAME, part, "/"); folder = part[2] }
{
    code = code_of($0)
    if (code ~ /^static[ \t]/) head = code
    else if (head != "") head = head " " code
    if (head ~ /[;={]/) { note_function(head); head = "" }
    if (code ~ /^\} [A-Z][A-Za-z0-9]*;/ || code ~ /^typedef .*\} [A-Z][A-Za-z0-9]*;/) note_type(code)
}
# A definition: "static ... name(...) {". A declaration ends in ";", and a variable has "=" before any "{".
function note_function(text,    name) {
    if (match(text, /[;={]/) && substr(text, RSTART, 1) != "{") return
    gsub(/__attribute__[ \t]*\(\([^{]*\)\)/, "", text)
    if (!match(text, /[A-Za-z_][A-Za-z0-9_]*[ \t]*\(/)) return
    name = substr(text, RSTART, RLENGTH)
    gsub(/[ \t(]/, "", name)
    if ((name, FILENAME) in seen) return
    seen[name, FILENAME] = 1
    if (files[name]++ == 0) names++
    where[name] = where[name] " " FILENAME
    if (folder in is_clean) hit[name] = hit[name] " " FILENAME
}
function note_type(text,    name) {
    name = text
    sub(/.*\} /, "", name)
    sub(/;.*/, "", name)
    if ((name, folder) in made) return
    made[name, folder] = 1
    if (folders[name]++ == 0) types++
    types_at[name] = types_at[name] " " FILENAME
    if (folder in is_clean) clean_types[name]++
}
END {
    for (name in files) {
        if (files[name] <= 3) continue
        shared++
        if (hit[name] == "") continue
        failed++
        print "  FAILED: " name " is a static function of " files[name] " files, wanted at most 3:" hit[name]
    }
    for (name in folders) {
        if (folders[name] < 2) continue
        twice++
        if (clean_types[name] < 2) continue
        failed++
        print "  FAILED: " name " is a type of " folders[name] " folders, wanted one:" types_at[name]
    }
    printf "  %d static names, %d shared by more than three files\n", names, shared
    printf "  %d types, %d of more than one folder\n", types, twice
    printf "%d passed, %d failed, 0 skipped\n", names + types - failed, failed
    exit failed > 0
}
