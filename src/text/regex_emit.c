/* SPDX-License-Identifier: Apache-2.0
 * regex_emit.c - the tree of a pattern to its program. A repeat of one character is one step; other
 * repeats are unrolled up to their least count, then loop. */
#include "regex_parse.h"

typedef struct Emitter {
    Arena *arena;
    Regex *out;
    Err *err;
    int32_t depth; /* of loops */
    size_t work;   /* nodes visited: repeats of nothing add no operation */
} Emitter;

static bool emit_node(Emitter *, const Node *);

static size_t emit_op(Emitter *e, RegexOp op)
{
    Regex *re = e->out;
    if (re->n == re->cap) {
        size_t cap = MAX(2 * re->cap, (size_t)32);
        RegexOp *bigger = ARRAY(e->arena, RegexOp, cap);
        if (re->n) memcpy(bigger, re->ops, re->n * sizeof *bigger);
        re->ops = bigger, re->cap = cap;
    }
    re->ops[re->n] = op;
    return re->n++;
}

static int32_t emit_here(const Emitter *e)
{
    return (int32_t)e->out->n;
}

static bool emit_either(Emitter *e, const Node *node)
{
    if (!node->next) return emit_node(e, node);
    size_t split = emit_op(e, (RegexOp){ OP_SPLIT });
    e->out->ops[split].a = emit_here(e);
    if (!emit_node(e, node)) return false;
    size_t jump = emit_op(e, (RegexOp){ OP_JUMP });
    e->out->ops[split].b = emit_here(e);
    if (!emit_either(e, node->next)) return false;
    e->out->ops[jump].a = emit_here(e);
    return true;
}

/* A split whose one way is the next operation; the other is set later. */
static size_t emit_branch(Emitter *e, bool lazy)
{
    size_t split = emit_op(e, (RegexOp){ OP_SPLIT });
    *(lazy ? &e->out->ops[split].b : &e->out->ops[split].a) = emit_here(e);
    return split;
}

static void set_exit(Emitter *e, size_t split, bool lazy)
{
    *(lazy ? &e->out->ops[split].a : &e->out->ops[split].b) = emit_here(e);
}

static bool emit_endless(Emitter *e, const Node *child, bool lazy)
{
    if (e->depth == REGEX_REGISTERS)
        return fail(e->err, EF_UNSUPPORTED,
                    "regular expression: more than %d repeats inside each other",
                    (int)REGEX_REGISTERS);
    int32_t slot = e->depth++; /* those side by side share one: going back restores it */
    size_t split = emit_branch(e, lazy);
    emit_op(e, (RegexOp){ OP_ENTER, .b = slot });
    if (!emit_node(e, child)) return false;
    e->depth--;
    size_t moved = emit_op(e, (RegexOp){ OP_MOVED, .b = slot });
    emit_op(e, (RegexOp){ OP_JUMP, .a = (int32_t)split });
    set_exit(e, split, lazy);
    e->out->ops[moved].a = emit_here(e);
    return true;
}

static bool emit_optional(Emitter *e, const Node *child, int32_t times, bool lazy)
{
    if (times == 0) return true;
    size_t split = emit_branch(e, lazy);
    if (!emit_node(e, child) || !emit_optional(e, child, times - 1, lazy)) return false;
    set_exit(e, split, lazy);
    return true;
}

static const CharClass *set_of(Emitter *e, const Node *node)
{
    if (node->kind == NODE_CLASS) return node->set;
    CharClass *set = NEW(e->arena, CharClass);
    class_add(e->arena, set, (ClassItem){ ITEM_RANGE, .low = node->code, .high = node->code });
    class_finish(set);
    return set;
}

static bool emit_repeat(Emitter *e, const Node *node)
{
    const Node *child = node->child;
    if (child->kind == NODE_CHAR || child->kind == NODE_CLASS) {
        emit_op(e, (RegexOp){ OP_LOOP, node->mode, .a = node->least, .b = node->most,
                     .set = set_of(e, child) });
        return true;
    }
    size_t atomic = node->mode == POSSESSIVE ? emit_op(e, (RegexOp){ OP_ATOMIC }) : 0;
    for (int32_t i = 0; i < node->least; i++)
        if (!emit_node(e, child)) return false;
    bool lazy = node->mode == LAZY;
    if (node->most < 0 ? !emit_endless(e, child, lazy)
                       : !emit_optional(e, child, node->most - node->least, lazy))
        return false;
    if (node->mode != POSSESSIVE) return true;
    emit_op(e, (RegexOp){ OP_MATCH });
    e->out->ops[atomic].a = emit_here(e);
    return true;
}

/* Most characters that a node can match; -1: any number. */
static int32_t node_widest(const Node *node)
{
    int32_t sum = 0;
    if (node->kind == NODE_CHAR || node->kind == NODE_CLASS) return 1;
    if (node->kind == NODE_REPEAT) {
        int32_t one = node_widest(node->child);
        if (one == 0 || node->most == 0) return 0;
        return one < 0 || node->most < 0 || one > INT32_MAX / node->most ? -1 : one * node->most;
    }
    if (node->kind == NODE_ATOMIC) return node_widest(node->child);
    if (node->kind != NODE_SEQUENCE && node->kind != NODE_EITHER) return 0;
    for (const Node *child = node->child; child; child = child->next) {
        int32_t one = node_widest(child);
        if (one < 0 || one > INT32_MAX - sum) return -1;
        sum = node->kind == NODE_EITHER ? MAX(sum, one) : sum + one;
    }
    return sum;
}

static bool emit_inner(Emitter *e, const Node *node, RegexOp op)
{
    size_t at = emit_op(e, op);
    if (!emit_node(e, node->child)) return false;
    if (op.behind) emit_op(e, (RegexOp){ OP_TARGET });
    emit_op(e, (RegexOp){ OP_MATCH });
    e->out->ops[at].a = emit_here(e);
    return true;
}

static bool emit_node(Emitter *e, const Node *node)
{
    if (e->out->n > PROGRAM_LIMIT || ++e->work > WORK_LIMIT)
        return fail(e->err, EF_UNSUPPORTED, "regular expression: its program is too long");
    switch (node->kind) {
    case NODE_EMPTY: return true;
    case NODE_CHAR: emit_op(e, (RegexOp){ OP_CHAR, .a = (int32_t)node->code }); return true;
    case NODE_CLASS: emit_op(e, (RegexOp){ OP_CLASS, .set = node->set }); return true;
    case NODE_ASSERT: emit_op(e, (RegexOp){ OP_ASSERT, node->mode }); return true;
    case NODE_EITHER: return emit_either(e, node->child);
    case NODE_REPEAT: return emit_repeat(e, node);
    case NODE_ATOMIC: return emit_inner(e, node, (RegexOp){ OP_ATOMIC });
    case NODE_LOOK:
        return emit_inner(
            e, node, (RegexOp){ OP_LOOK, node->mode, node->behind, .b = node_widest(node->child) });
    case NODE_SEQUENCE:
        for (const Node *child = node->child; child; child = child->next)
            if (!emit_node(e, child)) return false;
        return true;
    }
    return true;
}

bool regex_compile(Arena *arena, Str pattern, Regex *out, Err *err)
{
    Node *root;
    *out = (Regex){ 0 };
    Emitter e = { arena, out, err };
    if (!regex_parse(arena, pattern, &root, err) || !emit_node(&e, root)) return false;
    emit_op(&e, (RegexOp){ OP_MATCH });
    return true;
}
