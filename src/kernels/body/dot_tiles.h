/* SPDX-License-Identifier: Apache-2.0
 * dot_tiles.h - where a dot product is one instruction, the tiles are those of the f32 GEMM. */
#ifndef KERNELS_BODY_DOT_TILES_H
#define KERNELS_BODY_DOT_TILES_H

enum { DOT_ROWS = TILE_ROWS, DOT_PANELS = TILE_PANELS };
INLINE int dot_panels(int rows) { return tile_panels(rows); }
#define DOTS(X) TILES(X)

#endif
