#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# deploy.sh [PROGRAM] - the files of deploy/, as far as a machine without Docker and Kubernetes can tell; systemd-analyze, promtool
# and nginx are asked where they are. The last line is "N passed, N failed, N skipped".
cd -- "$(dirname -- "$0")/../.." && . tests/docs/lib.sh || exit 1
has_line() { grep -qE -- "$2" "$1" && pass || flunk "$1: lacks $2"; }

# ---- YAML: our own reader takes each document as far as its first key, which is not ours ----
for file in deploy/*.yaml; do
    awk -v out="$work/part" 'BEGIN { n = 1 } /^---$/ { n++; next } { print >(out n ".yml") }' "$file"
    for part in "$work"/part*.yml; do
        "$EF" build -f "$part" >"$work/txt" 2>"$work/err" </dev/null
        grep -qE 'unknown key|missing field' "$work/err"
        told "$file: YAML"
    done
    rm -f "$work"/part*.yml
done
printf 'a: [1\nb: 2\n' >"$work/broken.yml"
"$EF" build -f "$work/broken.yml" >"$work/txt" 2>"$work/err" </dev/null
grep -qE 'unknown key|missing field' "$work/err" && flunk "a broken YAML would be noticed" || pass

# ---- Kubernetes: what the guide promises ----
probe() { awk -v name="$1Probe:" '$1 == name { getline; print }' deploy/kubernetes.yaml >"$work/$1" && has_line "$work/$1" "path: $2, port: http"; }
probe startup /ready
probe readiness /ready
probe liveness /health
has_line deploy/kubernetes.yaml '^ +enableServiceLinks: false$'
has_line deploy/kubernetes.yaml '^ +readOnlyRootFilesystem: true$'

# ---- systemd ----
if command -v systemd-analyze >/dev/null; then
    sed "s|^ExecStart=[^ ]*|ExecStart=$EF|" deploy/encoderfile.service >"$work/encoderfile.service"
    systemd-analyze verify "$work/encoderfile.service" >"$work/err" 2>&1 && [ ! -s "$work/err" ] # some mistakes are words alone
    told "deploy/encoderfile.service"
    sed 's/^Restart=.*/Restart=maybe/' "$work/encoderfile.service" >"$work/wrong.service"
    systemd-analyze verify "$work/wrong.service" 2>&1 | grep -q maybe && pass || flunk "a wrong unit would be noticed"
else
    skip "no systemd-analyze"
fi

# ---- Prometheus, nginx ----
if command -v promtool >/dev/null; then
    promtool check rules deploy/prometheus-rules.yaml >"$work/err" 2>&1
    told "deploy/prometheus-rules.yaml"
fi
if command -v nginx >/dev/null && command -v openssl >/dev/null; then
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=x -keyout "$work/x.key" -out "$work/x.pem" 2>"$work/err"
    sed "s|/etc/nginx/encoder|$work/x|" deploy/nginx.conf >"$work/site.conf"
    echo "events {} http { access_log off; include $work/site.conf; }" >"$work/nginx.conf"
    nginx -t -c "$work/nginx.conf" >"$work/err" 2>&1
    grep -q 'syntax is ok' "$work/err"
    told "deploy/nginx.conf"
fi
# Limits of the proxies are those of the server.
has_line deploy/nginx.conf 'client_max_body_size 32m;'
has_line deploy/nginx.conf 'proxy_read_timeout 300s;'
"$EF" serve --help </dev/null >"$work/help"
has_line "$work/help" '--max-body BYTES .*default 32 MiB'
has_line "$work/help" '--request-timeout SECONDS .*default 300'

# ---- what the Dockerfile does: one file, nothing beside it ----
has_line deploy/Dockerfile '^FROM scratch$'
"$EF" build "$BUS" -o "$work/model.encoderfile" >"$work/txt" 2>"$work/err" </dev/null
told "a package"
if unshare -r true 2>/dev/null; then
    mkdir "$work/root" && mv "$work/model.encoderfile" "$work/root/model"
    unshare -rR "$work/root" /model infer --json "Volvo to Goa" >"$work/txt" 2>"$work/err" </dev/null
    told "a package in an empty root"
    grep -q '"B-DEST"' "$work/txt"
    told "it answers there"
else
    skip "no unshare"
fi
finish
