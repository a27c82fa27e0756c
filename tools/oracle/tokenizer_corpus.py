# SPDX-License-Identifier: Apache-2.0
"""tokenizer_corpus.py - lines of real text in many languages, out of Debian packages.

    apt-get download debian-handbook manpages-{de,fr,ja,ru,zh} libreoffice-l10n-{ar,he,hi,ko,th} ...
    python tools/oracle/tokenizer_corpus.py FOLDER OUT [MEGABYTES]

Reads every .deb in FOLDER: manual pages, HTML, plain text, word lists, spelling dictionaries and
message catalogues. Writes different lines in an order that is mixed, but always the same, up to
MEGABYTES (all). Text is taken as it is (entities and tags of HTML are not): white space inside a
line, controls and broken words are what a tokenizer meets.
"""
import gzip
import hashlib
import html
import io
import os
import re
import struct
import subprocess
import sys
import tarfile

LONGEST = 4000  # characters of a line


def catalogue(data):
    """The translations of a .mo file."""
    magic = struct.unpack("<I", data[:4])[0]
    if magic != 0x950412DE:
        return
    count, _, at = struct.unpack("<3I", data[8:20])
    for i in range(count):
        length, offset = struct.unpack("<2I", data[at + 8 * i: at + 8 * i + 8])
        yield from data[offset: offset + length].decode("utf-8", "ignore").replace("\0", "\n") \
            .split("\n")


def manual(data):
    """Lines of a manual page without its requests."""
    for line in data.decode("utf-8", "ignore").split("\n"):
        if not line.startswith((".\\\"", "'\\\"")):
            yield re.sub(r"\\f[BIRP]|^\.[A-Z]{1,2} ?|\\&|\\\(..|\\-", "", line)


def page(data):
    text = re.sub(r"(?s)<(script|style)\b.*?</\1>", "", data.decode("utf-8", "ignore"))
    return html.unescape(re.sub(r"<[^>]*>", "", text)).split("\n")


def plain(data):
    return data.decode("utf-8", "ignore").split("\n")


def dictionary(data):
    """Words of a .dic, some to a line."""
    words = [w.split("/")[0].strip() for w in plain(data)[1:]]
    return (" ".join(words[i:i + 9]) for i in range(0, len(words), 9))


def kind_of(name):
    if name.endswith(".mo"):
        return catalogue
    if re.search(r"/man\d/", name):
        return manual
    if name.endswith((".html", ".htm", ".xhtml")):
        return page
    if name.endswith((".dic", ".aff")):
        return dictionary
    if name.endswith((".txt", ".index", ".rst", "README", ".text")) or "/usr/share/dict/" in name:
        return plain
    return None


def lines_of(deb):
    tar = subprocess.run(["dpkg-deb", "--fsys-tarfile", deb], check=True, capture_output=True)
    with tarfile.open(fileobj=io.BytesIO(tar.stdout)) as archive:
        for member in archive:
            name, packed = re.subn(r"\.gz$", "", member.name)
            kind = kind_of(name)
            if not member.isfile() or not kind:
                continue
            data = archive.extractfile(member).read()
            yield from kind(gzip.decompress(data) if packed else data)


def main(folder, out, megabytes="100000"):
    found = {}
    for deb in sorted(os.listdir(folder)):
        if not deb.endswith(".deb"):
            continue
        before = len(found)
        for line in lines_of(os.path.join(folder, deb)):
            line = line.replace("\r", "")[:LONGEST]
            if len(line.strip()) > 2:
                found[hashlib.blake2b(line.encode(), digest_size=8).digest()] = line
        print(f"{deb}: {len(found) - before} new lines", file=sys.stderr)
    left = int(megabytes) * 1000000
    with open(out, "wb") as f:
        for key in sorted(found):
            row = found[key].encode() + b"\n"
            if (left := left - len(row)) < 0:
                break
            f.write(row)


if __name__ == "__main__":
    main(*sys.argv[1:])
