#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh [PROGRAM [PAGE...]] - runs the shell blocks of README.md and docs/*.md as they stand there. The last line is
# "N passed, N failed, N skipped". What a block is stands behind its fence:
#
#     ```sh run                 must end with status 0
#     ```sh terminal            the same, on a terminal: commands print for people
#     ```sh serve               started, and left running for the blocks that follow, up to the next such block
#     ```sh not run: REASON     not run, and why
#     ```text output            what the block before it prints: these lines, in this order; ... stands for anything
#     ```yaml NAME              written to the file NAME (any other language too)
#
# The blocks of a page run in their order, in one empty folder that looks like a checkout: examples/, include/, deploy/ and
# build/ with the program, which is on the PATH. Four things differ from a reader's terminal: ports are free ones in place
# of 8080, 50051 and 9100; addresses are 127.0.0.1; and curl tries again while nothing listens yet. The network is not used: models
# of the Hub are the bundled one, in the cache under their names.
cd -- "$(dirname -- "$0")/../.." || exit 1
ROOT=$PWD
EF=$(realpath "${1:-build/encoderfile}")
[ $# = 0 ] || shift
[ $# != 0 ] || set -- README.md CONTRIBUTING.md docs/*.md examples/*/README.md
work=$(mktemp -d)
trap 'stop_all; rm -rf "$work"' EXIT
passed=0 failed=0 left=0 groups=
pass() { passed=$((passed + 1)); }
flunk() { failed=$((failed + 1)) && echo "  FAILED: $1"; }

stop_all() { # what the blocks of a page left running
    for group in $groups; do kill -TERM "-$group" 2>/dev/null; done
    for group in $groups; do # they have half a second
        for i in $(seq 10); do kill -0 "-$group" 2>/dev/null && sleep 0.05; done
        kill -KILL "-$group" 2>/dev/null
    done
    groups=
}

# Ports of this machine that nobody listens on; another one may take them before we do, but there are 20,000.
free_port() {
    while :; do
        number=$(($(od -An -N2 -tu2 /dev/urandom) % 20000 + 20000))
        grep -qi ":$(printf %04X $number) " /proc/net/tcp /proc/net/tcp6 2>/dev/null || break
    done
    echo $number
}

mkdir "$work/bin"
ln -s "$EF" "$work/bin/encoderfile"
cat >"$work/bin/curl" <<END
#!/bin/sh
for i in \$(seq 100); do
    $(command -v curl || echo false) "\$@"
    status=\$?
    [ \$status = 7 ] || exit \$status
    sleep 0.1
done
exit 7
END
chmod +x "$work/bin/curl"

# folder PAGE: the sandbox.
folder() {
    box=$work/box && rm -rf "$box" && mkdir -p "$box/build" "$box/home"
    cp -r examples deploy "$box" 2>/dev/null
    ln -s "$ROOT/include" "$ROOT/docs" "$ROOT/tests" "$box"
    ln -s "$EF" "$box/build/encoderfile"
    [ ! -f build/libencoderfile.a ] || ln -s "$ROOT/build/libencoderfile.a" "$box/build"
    hub
    take_ports
}
# in_cache ORG NAME: the bundled model under that name, as huggingface_hub would have left it; prints its folder.
in_cache() {
    entry=$box/home/.cache/huggingface/hub/models--$1--$2 commit=0123456789012345678901234567890123456789
    mkdir -p "$entry/refs" "$entry/snapshots" && printf %s $commit >"$entry/refs/main"
    cp -r examples/bus-ner "$entry/snapshots/$commit"
    echo "$entry/snapshots/$commit"
}
hub() {
    in_cache dslim bert-base-NER >"$work/txt"
    vectors=$(in_cache sentence-transformers all-MiniLM-L6-v2)
    sed -i 's/BertForTokenClassification/BertModel/' "$vectors/config.json"
    mkdir "$vectors/1_Pooling" && echo '{"word_embedding_dimension": 96, "pooling_mode_mean_tokens": true}' >"$vectors/1_Pooling/config.json"
    echo '[{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}]' >"$vectors/modules.json"
}
take_ports() {
    http=$(free_port) grpc=$(free_port) mcp=$(free_port)
    ports="s/\b8080\b/$http/g; s/\b50051\b/$grpc/g; s/\b9100\b/$mcp/g; s/\b0\.0\.0\.0\b/127.0.0.1/g"
}

# start BLOCK [COMMAND...]: `sh` or what runs it, in a process group of its own; $! is it.
start() {
    block=$work/blocks/$1 && shift
    [ $# != 0 ] || set -- sh -e "$block"
    sed -i "$ports" "$block"
    rm -f "$work/said" # a server that was started before goes on writing into its own
    (cd "$box" && exec env -i PATH="$work/bin:$PATH" HOME="$box/home" LANG=C.UTF-8 CC="${CC:-gcc}" HF_HUB_OFFLINE=1 \
        ENCODERFILE_HTTP_HOSTNAME=127.0.0.1 ENCODERFILE_HTTP_PORT=$http ENCODERFILE_GRPC_PORT=$grpc \
        setsid timeout -k 5 60 "$@") >"$work/said" 2>&1 </dev/null &
}

run_block() { # NUMBER PLACE [COMMAND...]
    number=$1 place=$2 && shift 2
    start "$number" "$@"
    group=$!
    wait $group
    status=$?
    kill -0 "-$group" 2>/dev/null && groups="$groups $group"
    if [ $status = 0 ]; then pass; else flunk "$place: status $status" && tail -5 "$work/said" | cut -c1-300 | sed 's/^/    | /'; fi
}
terminal_block() { # script (bsdutils) lends a terminal; it ends lines as one
    run_block "$1" "$2" script -qec "sh -e $work/blocks/$1" "$work/typescript"
    sed -i 's/\r//g' "$work/said"
}
serve_block() {
    stop_all
    take_ports # those of the server before may be taken for a while yet
    start "$1"
    groups=$!
    for i in $(seq 200); do grep -q ' serving ' "$work/said" || { kill -0 $! 2>/dev/null && sleep 0.05; }; done
    if grep -q ' serving ' "$work/said"; then pass; else flunk "$2: does not serve" && tail -5 "$work/said" | sed 's/^/    | /'; fi
}
# The lines of a block, in their order, in what was said before it.
compare_block() {
    sed "$ports" "$work/blocks/$1" | awk -v said="$work/said" '
        function next_line() { if ((getline line <said) > 0) return 1; return 0 }
        function like(wanted,  part, n, i, at) {
            n = split(wanted, part, /\.\.\./)
            if (n == 1) return line == wanted
            for (at = i = 1; i <= n; i++) {
                if (part[i] == "") continue
                found = index(substr(line, at), part[i])
                if (!found || i == 1 && found != 1) return 0
                at += found - 1 + length(part[i])
            }
            return part[n] == "" || at == length(line) + 1
        }
        $0 == "..." { next }
        { sub(/ +$/, ""); do if (!next_line()) { print; exit 1 } while (!like($0)) }' >"$work/missing"
    if [ $? = 0 ]; then pass; else flunk "$2: the block before it does not print \"$(cat "$work/missing")\" there" && head -12 "$work/said" | cut -c1-200 | sed 's/^/    | /'; fi
}
file_block() { # NUMBER NAME
    case $3 in /* | *..*) flunk "$2: a file outside of the folder: $3" && return ;; esac
    mkdir -p "$box/$(dirname "$3")"
    sed "$ports" "$work/blocks/$1" >"$box/$3"
}

for page; do
    mkdir -p "$work/blocks"
    awk -v OUT="$work/blocks" -f tests/docs/blocks.awk "$page" >"$work/list"
    folder
    : >"$work/said"
    while read -r number kind line rest; do
        place=$page:$line
        case $kind in
            run) run_block "$number" "$place" ;;
            terminal) terminal_block "$number" "$place" ;;
            serve) serve_block "$number" "$place" ;;
            output) compare_block "$number" "$place" ;;
            file) file_block "$number" "$place" "$rest" ;;
            not) left=$((left + 1)) && echo "  not run: $place: $rest" ;;
            bad) flunk "$place: $rest" ;;
        esac
    done <"$work/list"
    stop_all
    rm -rf "$work/blocks"
done
echo "  $left blocks are not run, each for the reason it gives"
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
