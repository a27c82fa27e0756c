#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tls.sh - every kind of key, version, cipher and group that the built program should know, as `openssl s_client` sees
# it: the static program names its algorithms itself (src/net/tls_algorithms.c), and one that is missing shows here.
# usage: tests/http/tls.sh [PROGRAM]; needs openssl. Last line: "N passed, N failed, N skipped".
MODEL=examples/bus-ner
. tests/http/lib.sh
command -v openssl > /dev/null || { skip "no openssl"; finish; }

# ---- keys: a chain of two certificates each, signed by an authority of the same kind ----
new_key() { # FILE KIND
    case $2 in
    rsa) openssl genrsa 2048 ;;
    rsa-old) openssl genrsa -traditional 2048 ;;
    rsa-pss) openssl genpkey -algorithm RSA-PSS -pkeyopt rsa_keygen_bits:2048 ;;
    ec-old) openssl ecparam -genkey -noout -name prime256v1 ;;
    P-*) openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:"$2" ;;
    *) openssl genpkey -algorithm "$2" ;;
    esac > "$1" 2> /dev/null
}
# certificate NAME KIND DIGEST: NAME.key, NAME.pem (itself and its authority), NAME.ca
certificate() {
    new_key "$dir/ca.key" "$2"
    new_key "$dir/$1.key" "$2"
    openssl req -x509 -new -key "$dir/ca.key" "-$3" -days 2 -subj "/CN=authority of $1" -out "$dir/$1.ca"
    openssl req -new -key "$dir/$1.key" -subj "/CN=$1" -out "$dir/request"
    printf 'subjectAltName=IP:127.0.0.1\n' > "$dir/extensions"
    openssl x509 -req -in "$dir/request" -CA "$dir/$1.ca" -CAkey "$dir/ca.key" "-$3" -days 2 -CAcreateserial \
        -extfile "$dir/extensions" -out "$dir/own" 2> /dev/null
    cat "$dir/own" "$dir/$1.ca" > "$dir/$1.pem"
}

# with_tls FLAGS...: serves with that certificate
with_tls() { serve --cert-file "$dir/server.pem" --key-file "$dir/server.key" "$@" || { failed=1; cat "$dir/log"; finish; }; }

# ask S_CLIENT_FLAGS...: the status line of GET /health, or what went wrong
ask() {
    printf 'GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n' |
        timeout 10 openssl s_client -connect "127.0.0.1:$port" -CAfile "$dir/server.ca" -verify_return_error -quiet \
            -ign_eof "$@" 2> "$dir/said" | tr -d '\r' | head -n 1
    grep -m 1 'alert\|error' "$dir/said"
}
# agreed S_CLIENT_FLAGS...: what was agreed on
agreed() {
    timeout 10 openssl s_client -connect "127.0.0.1:$port" -CAfile "$dir/server.ca" "$@" < /dev/null 2>&1 | tr '\n' ' '
}
ok='HTTP/1.1 200 OK'

for kind in rsa:sha256 rsa:sha384 rsa-old:sha512 rsa-pss:sha256 ec-old:sha256 P-384:sha384 P-521:sha512 \
    ED25519:sha512 ED448:sha512; do
    certificate server "${kind%:*}" "${kind#*:}"
    with_tls
    check "$kind, TLS 1.3" "$(ask -tls1_3)" "$ok"
    check "$kind, TLS 1.2" "$(ask -tls1_2)" "$ok"
    stop TERM
done

certificate server rsa sha256
with_tls
for cipher in ECDHE-RSA-AES128-GCM-SHA256 ECDHE-RSA-AES256-GCM-SHA384 ECDHE-RSA-CHACHA20-POLY1305; do
    check "$cipher" "$(agreed -tls1_2 -cipher "$cipher")" "*Cipher is $cipher*Verify return code: 0*"
done
for cipher in TLS_AES_128_GCM_SHA256 TLS_AES_256_GCM_SHA384 TLS_CHACHA20_POLY1305_SHA256; do
    check "$cipher" "$(agreed -tls1_3 -ciphersuites "$cipher")" "*Cipher is $cipher*Verify return code: 0*"
done
for group in X25519 P-256 P-384 P-521 X448; do
    check "group $group, TLS 1.3" "$(ask -tls1_3 -groups "$group")" "$ok"
    check "group $group, TLS 1.2" "$(ask -tls1_2 -groups "$group")" "$ok"
done
for version in tls1_2 tls1_3; do
    ask "-$version" -sess_out "$dir/session" > /dev/null
    check "resumed, $version" "$(agreed "-$version" -sess_in "$dir/session")" '*Reused, TLSv1*'
done
check 'TLS 1.1 is refused' "$(ask -tls1_1 -cipher ALL:@SECLEVEL=0)" '*alert protocol version*'
check 'CBC is refused' "$(ask -tls1_2 -cipher ECDHE-RSA-AES128-SHA256)" '*alert handshake failure*'
stop TERM

for kind in rsa:sha256 P-256:sha256 ED25519:sha512; do
    certificate client "${kind%:*}" "${kind#*:}"
    certificate other "${kind%:*}" "${kind#*:}"
    with_tls --client-ca-file "$dir/client.ca"
    for version in tls1_2 tls1_3; do
        check "client $kind" "$(ask "-$version" -cert "$dir/client.pem" -key "$dir/client.key")" "$ok"
        check "stranger $kind" "$(ask "-$version" -cert "$dir/other.pem" -key "$dir/other.key")" '*alert unknown ca*'
    done
    stop TERM
done

# no_key NAME: a key file that is of no use
no_key() {
    timeout 10 "$PROGRAM" serve --model "$MODEL" --cert-file "$dir/server.pem" --key-file "$dir/bad.key" 2> "$dir/log"
    check "$1: exit code" "$?" 1
    check "$1" "$(cat "$dir/log")" "*key: $dir/bad.key: *"
}
openssl pkcs8 -topk8 -in "$dir/server.key" -passout pass:word -out "$dir/bad.key" 2> /dev/null
no_key 'a key with a password'
openssl rsa -in "$dir/server.key" -traditional -aes128 -passout pass:word -out "$dir/bad.key" 2> /dev/null
no_key 'an old key with a password'
head -c 300 "$dir/server.key" > "$dir/bad.key"
no_key 'a cut key'
finish
