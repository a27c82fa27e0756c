/* SPDX-License-Identifier: Apache-2.0
 * amx_tiles.h - the tile unit of AMX in C, in place of the compiler's intrinsics. The Makefile compiles the sources of
 * src/kernels/amx a second time behind this header, for tests on CPUs that have AVX-512 and its BF16 but no tiles. What
 * the CPU would answer with a fault, and tiles that are left configured, end the program with a message.
 *
 * Products are those of Intel's manual: int8 to the bit; bf16 in the documented order, whose sums a chip may add in
 * another one. Not emulated: that the compiler knows nothing of what a tile load reads, and time. */
#ifndef AMX_TILES_H
#define AMX_TILES_H
#include <immintrin.h>
#include <stdint.h>

void tiles_load_config(const void *config);
void tiles_release(void);
void tiles_zero(int tile);
void tiles_load(int tile, const void *from, int64_t stride);
void tiles_store(int tile, void *to, int64_t stride);
void tiles_dot_u8_i8(int sum, int x, int w);
void tiles_dot_bf16(int sum, int x, int w);

#undef _tile_zero
#undef _tile_loadd
#undef _tile_stream_loadd
#undef _tile_stored
#undef _tile_dpbusd
#undef _tile_dpbf16ps
#define _tile_loadconfig(config) tiles_load_config(config)
#define _tile_release() tiles_release()
#define _tile_zero(tile) tiles_zero(tile)
#define _tile_loadd(tile, from, stride) tiles_load(tile, from, stride)
#define _tile_stream_loadd(tile, from, stride) tiles_load(tile, from, stride)
#define _tile_stored(tile, to, stride) tiles_store(tile, to, stride)
#define _tile_dpbusd(sum, x, w) tiles_dot_u8_i8(sum, x, w)
#define _tile_dpbf16ps(sum, x, w) tiles_dot_bf16(sum, x, w)

/* Nothing uses these yet: who does gets an error of the linker, not the instruction. */
#undef _tile_dpbssd
#undef _tile_dpbsud
#undef _tile_dpbuud

#endif
