/* SPDX-License-Identifier: Apache-2.0
 * notices.S - what tools/notices wrote, compressed: cmd_licenses.c reads it. */
    .section .rodata
    .global notices_begin, notices_end
notices_begin:
    .incbin "notices.gz"
notices_end:
    .section .note.GNU-stack, "", %progbits
