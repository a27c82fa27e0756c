/* SPDX-License-Identifier: Apache-2.0
 * web.S - the files of web/, each compressed by the Makefile: web.c serves them as they are. */
#define WEB_FILE(symbol, name, type) .global web_##symbol, web_##symbol##_end; web_##symbol: .incbin name; web_##symbol##_end:
    .section .rodata
#include "web_files.h"
    .section .note.GNU-stack, "", %progbits
