/* SPDX-License-Identifier: Apache-2.0
 * luatensor.h - Tensor, the userdata of scripts: f32, row-major, up to 8 axes, never changed after
 * it was made. Header and numbers are one block of the VM's memory, so an error anywhere leaves
 * nothing behind. Axes are counted from 1, as everything in Lua; a rank of 0 is a single number. */
#ifndef TRANSFORM_LUATENSOR_H
#define TRANSFORM_LUATENSOR_H
#include "vm.h"

enum { TENSOR_RANK = 8 };
#define TENSOR_MOST ((int64_t)1 << 28) /* elements; the VM's memory is the nearer limit */

typedef struct LuaTensor {
    int64_t dim[TENSOR_RANK];
    int64_t count;               /* of elements */
    int rank;
    float data[];
} LuaTensor;

/* ---- luatensor.c ---- */
/* Pushes a new one, its numbers not set; too many elements, or axes, are an error. */
LuaTensor *luatensor_push(lua_State *, int rank, const int64_t *dim);
LuaTensor *luatensor_like(lua_State *, const LuaTensor *);       /* the same shape */
const LuaTensor *luatensor_check(lua_State *, int argument);  /* a Tensor, or an error */
const LuaTensor *luatensor_test(lua_State *, int index);      /* NULL: it is none */
/* A Tensor, or a table of numbers that is replaced by one; else "Unknown type: <t>". */
const LuaTensor *luatensor_to(lua_State *, int index);
/* A Tensor or a number, which becomes a Tensor of rank 0 in its place. */
const LuaTensor *luatensor_operand(lua_State *, int index);
int luatensor_axis(lua_State *, int argument, const LuaTensor *); /* from 0; "Axis out of range." */
bool luatensor_same_shape(const LuaTensor *, const LuaTensor *);
const char *luatensor_shape_text(lua_State *, const LuaTensor *); /* "[2, 3]", pushed */
/* Pushes the number of a tensor of rank 0, or the tensor at the top stays. */
int luatensor_result(lua_State *);

/* A tensor seen along one axis: element (o, i, k) is data[(o * length + i) * inner + k]. */
typedef struct Along {
    int64_t outer, length, inner;
} Along;
Along luatensor_along(const LuaTensor *, int axis);
/* Steps for work on that many elements. */
static inline void luatensor_charge(lua_State *L, int64_t elements)
{
    vm_charge(L, elements / 4 + 8);
}

/* ---- methods, each file adding its own to the table on top ---- */
void luatensor_open_elements(lua_State *); /* element by element, with broadcasting */
void luatensor_open_meta(lua_State *);     /* the same file: operators, into the metatable */
void luatensor_open_axes(lua_State *);     /* along an axis, and over all */
void luatensor_open_shapes(lua_State *);   /* parts, joints, other shapes */

#endif
