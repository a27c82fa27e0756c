/* SPDX-License-Identifier: Apache-2.0
 * schema.c - onnx.proto's messages, one row a field. What is not here (doc strings of tensors and
 * attributes, quantization annotations, training) is neither kept nor written. */
#include "schema.h"

#define STR_AT(T, n, member) { n, FIELD_STR, offsetof(T, member) }
#define DOMAIN_AT(T, n, member) { n, FIELD_DOMAIN, offsetof(T, member) }
#define INT_AT(T, n, member) { n, FIELD_INT, offsetof(T, member) }
#define STRS_AT(T, n, member, count) { n, FIELD_STRS, offsetof(T, member), offsetof(T, count) }
#define MSGS_AT(T, n, member, count, of) \
    { n, FIELD_MSGS, offsetof(T, member), offsetof(T, count), &of }

const int attr_field[ATTR_TYPES] = {
    [A_FLOAT] = 2, [A_INT] = 3, [A_STRING] = 4, [A_TENSOR] = 5, [A_GRAPH] = 6,
    [A_FLOATS] = 7, [A_INTS] = 8, [A_STRINGS] = 9, [A_TENSORS] = 10, [A_GRAPHS] = 11,
};

const OnnxMessage message_tensor = { "tensor", sizeof(OnnxTensor), NULL, read_tensor,
                                     write_tensor };
static const OnnxMessage message_attr = { "attribute", sizeof(OnnxAttr), NULL, read_attr,
                                          write_attr };
static const OnnxMessage message_value = { "value info", sizeof(OnnxValue), NULL, read_value,
                                       write_value };

static const OnnxMessage message_sparse = { "a sparse initializer" };

static const OnnxField pair_fields[] = { STR_AT(OnnxPair, 1, key),
                                         STR_AT(OnnxPair, 2, value),
                                         { 0 } };
static const OnnxMessage message_pair = { "metadata", sizeof(OnnxPair), pair_fields };

static const OnnxField opset_fields[] = {
    DOMAIN_AT(OnnxOpset, 1, domain), INT_AT(OnnxOpset, 2, version), { 0 }
};
static const OnnxMessage message_opset = { "opset import", sizeof(OnnxOpset), opset_fields };

static const OnnxField node_fields[] = {
    STRS_AT(OnnxNode, 1, in, n_in),
    STRS_AT(OnnxNode, 2, out, n_out),
    STR_AT(OnnxNode, 3, name),
    STR_AT(OnnxNode, 4, op),
    MSGS_AT(OnnxNode, 5, attr, n_attr, message_attr),
    STR_AT(OnnxNode, 6, doc),
    DOMAIN_AT(OnnxNode, 7, domain),
    STR_AT(OnnxNode, 8, overload),
    MSGS_AT(OnnxNode, 9, meta, n_meta, message_pair),
    { 0 }
};
static const OnnxMessage message_node = { "node", sizeof(OnnxNode), node_fields };

static const OnnxField graph_fields[] = {
    MSGS_AT(OnnxGraph, 1, node, n_node, message_node),
    STR_AT(OnnxGraph, 2, name),
    MSGS_AT(OnnxGraph, 5, init, n_init, message_tensor),
    STR_AT(OnnxGraph, 10, doc),
    MSGS_AT(OnnxGraph, 11, in, n_in, message_value),
    MSGS_AT(OnnxGraph, 12, out, n_out, message_value),
    MSGS_AT(OnnxGraph, 13, info, n_info, message_value),
    { 15, FIELD_REFUSED, 0, 0, &message_sparse },
    MSGS_AT(OnnxGraph, 16, meta, n_meta, message_pair),
    { 0 }
};
const OnnxMessage message_graph = { "graph", sizeof(OnnxGraph), graph_fields };

static const OnnxField function_fields[] = {
    STR_AT(OnnxFunction, 1, name),
    STRS_AT(OnnxFunction, 4, in, n_in),
    STRS_AT(OnnxFunction, 5, out, n_out),
    STRS_AT(OnnxFunction, 6, attr, n_attr),
    MSGS_AT(OnnxFunction, 7, body.node, body.n_node, message_node),
    MSGS_AT(OnnxFunction, 9, opset, n_opset, message_opset),
    DOMAIN_AT(OnnxFunction, 10, domain),
    MSGS_AT(OnnxFunction, 11, otherwise, n_otherwise, message_attr),
    { 0 }
};
static const OnnxMessage message_function = { "function", sizeof(OnnxFunction), function_fields };

static const OnnxField model_fields[] = {
    INT_AT(OnnxModel, 1, ir_version),
    STR_AT(OnnxModel, 2, producer),
    STR_AT(OnnxModel, 3, producer_version),
    STR_AT(OnnxModel, 4, domain),
    INT_AT(OnnxModel, 5, version),
    STR_AT(OnnxModel, 6, doc),
    { 7, FIELD_MSG, offsetof(OnnxModel, graph), 0, &message_graph },
    MSGS_AT(OnnxModel, 8, opset, n_opset, message_opset),
    MSGS_AT(OnnxModel, 14, meta, n_meta, message_pair),
    MSGS_AT(OnnxModel, 25, function, n_function, message_function),
    { 0 }
};
const OnnxMessage message_model = { "model", sizeof(OnnxModel), model_fields };
