#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# install.sh [OUT] - what `make install` puts into a folder of its own: the C programs of README.md and examples/ are compiled
# against it by pkg-config, with the shared library and static, and run; what the libraries show and need is looked at.
cd -- "$(dirname -- "$0")/.." || exit 1
out=${1:-build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0 skipped=0
check() { # WHAT STATUS
    if [ "$2" = 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)) && echo "  FAILED: $1"; fi
}
skip() { skipped=$((skipped + 1)) && echo "  skipped: $1"; }

root=$work/root
(umask 077 && exec make -s install DESTDIR="$root" prefix=/opt/ef) >"$work/log" 2>&1
check "make install: $(tail -3 "$work/log")" $?
[ -z "$(find "$root/opt" ! -perm -o=r)" ]
check "everybody may read what is installed, whatever the umask: $(find "$root/opt" ! -perm -o=r | head -3)" $?
make -n install prefix=/opt/ef 2>/dev/null | grep -q ldconfig && ! make -n install DESTDIR="$root" prefix=/opt/ef | grep -q ldconfig
check "the loader is told of a library that is installed, and not of one that is staged" $?
for file in bin/encoderfile include/encoderfile.h lib/libencoderfile.a lib/libencoderfile.so lib/libencoderfile.so.0 \
    lib/pkgconfig/encoderfile.pc share/man/man1/encoderfile.1 share/man/man1/encoderfile-build.1; do
    [ -s "$root/opt/ef/$file" ]
    check "$file is installed" $?
done
grep -rq "$work" "$root/opt/ef/lib/pkgconfig"
[ $? = 1 ]
check "the pkg-config file does not know the staging folder" $?
"$root/opt/ef/bin/encoderfile" version >/dev/null
check "the installed program runs" $?

# ---- what the libraries show and need ----
library=$root/opt/ef/lib/libencoderfile.so.0
nm -D --defined-only "$library" | awk '{ print $3 }' | sed 's/@.*//' | grep -v '^ef_' | grep -vx 'ENCODERFILE_[0-9]*' >"$work/strange"
[ ! -s "$work/strange" ]
check "only ef_* is visible: $(head -3 "$work/strange")" $?
nm -D --defined-only "$library" | sed -n 's/.* T \(ef_[a-z_]*\).*/\1/p' | sort >"$work/shown"
awk '/^static inline|^#/ { next } { print }' include/encoderfile.h | sed 's,/\*.*,,; s,^ \*.*,,' | grep -oE '\bef_[a-z_]+\(' | tr -d '(' |
    sort -u | comm -23 - "$work/shown" >"$work/strange"
[ ! -s "$work/strange" ] && [ "$(wc -l <"$work/shown")" -gt 50 ]
check "every function of the header is there: $(head -3 "$work/strange")" $?
readelf -d "$library" | grep -q 'SONAME.*\[libencoderfile.so.0\]'
check "its name has the number of the interface" $?
nm -g --defined-only "$root/opt/ef/lib/libencoderfile.a" | awk 'NF == 3 { print $3 }' | grep -v '^ef_' >"$work/strange"
[ ! -s "$work/strange" ]
check "only ef_* is visible in the static library, too: $(head -3 "$work/strange")" $?
make -s PARTS=library >"$work/log" 2>&1
check "make PARTS=library: $(tail -3 "$work/log")" $?
nm -u "$out/lib/libencoderfile.a" 2>/dev/null | grep -E ' (SSL_|nghttp2_|server_run)' >"$work/strange"
[ ! -s "$work/strange" ]
check "the small library needs neither TLS nor HTTP/2: $(head -3 "$work/strange")" $?
printf '#include <encoderfile.h>\nint main(void) { ef_error e; return ef_serve(0, 0, 0, &e) || e.code != EF_UNSUPPORTED; }\n' >"$work/small.c"
libs=$(sed -n 's/^Libs.private: //p' "$root/opt/ef/lib/pkgconfig/encoderfile.pc" | sed 's/-lnghttp2//; s/-lssl//; s/-lcrypto//')
cc -Iinclude -o "$work/small" "$work/small.c" "$out/lib/libencoderfile.a" $libs 2>"$work/log" && "$work/small"
check "a program with the small library: $(tail -3 "$work/log")" $?
mkdir "$work/pairs"
cat >"$work/pairs/tokenizer.json" <<'END'
{"version": "1.0", "added_tokens": [], "normalizer": null, "pre_tokenizer": null, "post_processor": null, "decoder": null,
 "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}}
END
cat >"$work/unload.c" <<'END'
#include <dlfcn.h>
#include <encoderfile.h>
#include <pthread.h>
static const char *library, *folder;
static int failed;
static void *run(void *own) /* a thread that ends after the library was given back */
{
    void *lib = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!lib) return failed = 1, own;
    ef_tokenizer *(*open)(const char *, ef_error *) = dlsym(lib, "ef_tokenizer_open");
    bool (*encode)(const ef_tokenizer *, const ef_input *, size_t, const ef_encode_options *, ef_tokens **,
                   ef_error *) = dlsym(lib, "ef_encode");
    void (*tokens_free)(ef_tokens *) = dlsym(lib, "ef_tokens_free");
    void (*close)(ef_tokenizer *) = dlsym(lib, "ef_tokenizer_close");
    ef_tokenizer *t = open(folder, NULL);
    ef_input in = ef_text("ab ab");
    ef_tokens *tokens;
    failed |= !t || !encode(t, &in, 1, NULL, &tokens, NULL);
    if (!failed) tokens_free(tokens);
    close(t);
    dlclose(lib);
    return own;
}
int main(int argc, char **argv)
{
    pthread_t thread;
    library = argv[1], folder = argv[argc - 1];
    for (int i = 0; i < 1100; i++) /* more than a process has keys of threads' own memory */
        if (pthread_create(&thread, NULL, run, NULL) || pthread_join(thread, NULL)) return 2;
    return failed;
}
END
cc -Iinclude -o "$work/unload" "$work/unload.c" -pthread 2>"$work/log" && "$work/unload" "$library" "$work/pairs" 2>>"$work/log"
check "loaded and given back by threads that end: $(tail -3 "$work/log")" $?

# ---- programs ----
awk '/^```c buses.c$/ { inside = 1; next } /^```$/ { inside = 0 } inside' README.md >"$work/buses.c"
[ -s "$work/buses.c" ]
check "README.md has a C program" $?
if command -v pkg-config >/dev/null; then
    export PKG_CONFIG_PATH="$root/opt/ef/lib/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$root"
    pkg-config --validate encoderfile
    check "pkg-config --validate" $?
    [ "$(pkg-config --modversion encoderfile)" = "$("$out/encoderfile" version | sed 's/^[^0-9]*//; s/ .*//;q')" ]
    check "pkg-config has the version" $?
    for source in "$work/buses.c" examples/classify.c; do
        name=$(basename "$source" .c)
        cc -std=c11 -Wall -Wextra -Werror -pedantic -o "$work/$name" "$source" $(pkg-config --cflags --libs encoderfile) 2>"$work/log"
        check "$name, shared: $(head -3 "$work/log")" $?
        cc -std=c11 -Wall -Wextra -Werror -pedantic -static -o "$work/$name-static" "$source" \
            $(pkg-config --cflags --libs --static encoderfile) 2>"$work/log"
        check "$name, static: $(head -3 "$work/log")" $?
        for program in "$name" "$name-static"; do
            LD_LIBRARY_PATH="$root/opt/ef/lib" "$work/$program" examples/bus-ner "Volvo from Pune to Goa on Sunday" >"$work/said" 2>&1
            check "$program runs: $(tail -1 "$work/said")" $?
            grep -q 'DEST' "$work/said"
            check "$program answers: $(tail -1 "$work/said")" $?
        done
    done
    printf '#include <encoderfile.h>\nint fail(void) { return 1; }\nint main(void) { return ef_open("", 0, 0) ? fail() : 0; }\n' >"$work/own.c"
    cc -static -o "$work/own" "$work/own.c" $(pkg-config --cflags --libs --static encoderfile) 2>"$work/log" && "$work/own"
    check "a static program with a function that the library has, too: $(head -3 "$work/log")" $?
    readelf -d "$work/buses" | grep -q 'NEEDED.*libencoderfile.so.0'
    check "the program needs the library by its number" $?
else
    skip "no pkg-config"
fi
if command -v c++ >/dev/null; then
    printf '#include <encoderfile.h>\nint main() { ef_input in = ef_text("a"); return in.size != 1; }\n' >"$work/plus.cc"
    c++ -std=c++11 -Wall -Wextra -Werror -Iinclude -o "$work/plus" "$work/plus.cc" 2>"$work/log" && "$work/plus"
    check "the header in C++: $(head -3 "$work/log")" $?
else
    skip "no C++ compiler"
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
