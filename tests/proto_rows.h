/* SPDX-License-Identifier: Apache-2.0
 * proto_rows.h - a message with every kind of field, as tools/oracle/proto.py declares it. */
#ifndef PROTO_ROWS_H
#define PROTO_ROWS_H
#include "data/value.h"

static const char *const proto_colors[] = { "red", "green", "blue", NULL };
static const char *const proto_color_names[] = { "RED", "GREEN", "BLUE" };
static const int proto_color_numbers[] = { 0, 1, 21 };
static const ProtoEnum proto_color = { "Color", proto_color_names, proto_color_numbers };

static const Field proto_inner[] = {
    { "name", 1, F_STR },
    { "x", 2, F_F32, .repeated = true },
    { "next", 3, F_MSG, .msg = proto_inner, .msg_name = "Inner" },
    { 0 },
};
static const Field proto_all[] = {
    { "s", 1, F_STR },
    { "b", 2, F_BOOL },
    { "i", 3, F_I32 },
    { "u", 4, F_U32 },
    { "wide", 5, F_U64 },
    { "f", 6, F_F32 },
    { "d", 7, F_F64 },
    { "raw", 8, F_BYTES },
    { "color", 9, F_STR, .words = proto_colors, .proto_enum = &proto_color },
    { "os", 10, F_STR, .nullable = true },
    { "ou", 11, F_U32, .nullable = true },
    { "floats", 12, F_F32, .repeated = true },
    { "ids", 13, F_U32, .repeated = true },
    { "texts", 14, F_STR, .repeated = true },
    { "inners", 15, F_MSG, .repeated = true, .msg = proto_inner, .msg_name = "Inner" },
    { "inner", 16, F_MSG, .msg = proto_inner, .msg_name = "Inner" },
    { "tags", 17, F_STR_MAP },
    { "names", 18, F_INT_STR_MAP },
    { "left", 19, F_STR, .oneof = "pick" },
    { "right", 20, F_U32, .oneof = "pick" },
    { "colors", 21, F_STR, .repeated = true, .words = proto_colors, .proto_enum = &proto_color },
    { "doubles", 22, F_F64, .repeated = true },
    { "flags", 23, F_BOOL, .repeated = true },
    { "signed", 24, F_I32, .repeated = true },
    { 0 },
};

#endif
