
JúMPlFÉU
V¨U