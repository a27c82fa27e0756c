/* SPDX-License-Identifier: Apache-2.0
 * regex_match.c - runs a program on a text: depth first, with an explicit stack of the ways not yet
 * tried. Looks and atomic groups run as programs of their own, so the depth of the C stack is that
 * of the pattern. */
#include "pieces.h"
#include "regex.h"

enum { BACK_TRY, BACK_GREEDY, BACK_LAZY, BACK_REGISTER };
static const size_t NONE = SIZE_MAX;
static const uint64_t STEP_LIMIT = 10000000, STEPS_PER_BYTE = 200;
enum { DEPTH_LIMIT = 1 << 22 };

typedef struct RegexMachine {
    const Regex *re;
    RegexSearch *s;
    size_t registers[REGEX_REGISTERS]; /* where an iteration of a loop started */
} RegexMachine;

static void match_push(RegexMachine *m, uint32_t op, uint32_t kind, size_t at, size_t low)
{
    RegexSearch *s = m->s;
    if (!s->stack) s->stack = s->first, s->room = COUNT(s->first);
    if (s->depth == s->room) {
        if (s->room >= DEPTH_LIMIT) {
            s->trouble = "regular expression: too many ways to match the text";
            return;
        }
        Back *bigger = arena_raw(s->arena, 2 * s->room * sizeof *bigger);
        memcpy(bigger, s->stack, s->depth * sizeof *bigger);
        s->stack = bigger, s->room *= 2;
    }
    s->stack[s->depth++] = (Back){ op, kind, at, low };
}

static size_t take_code(Str text, size_t at, uint32_t *code)
{
    *code = (unsigned char)text.p[at];
    return *code < 0x80 ? 1 : (size_t)utf8_take(text.p + at, code);
}

static size_t step_back(Str text, size_t at)
{
    do at--;
    while ((text.p[at] & 0xc0) == 0x80);
    return at;
}

/* The byte behind the character at `at` if the set has it, otherwise NONE. */
static inline size_t step_set(Str text, size_t at, const CharClass *set)
{
    uint32_t code;
    if (at == text.n) return NONE;
    size_t length = take_code(text, at, &code);
    return class_has(set, code) ? at + length : NONE;
}

/* ---- assertions ---- */
static bool word_at(Str text, size_t at)
{
    uint32_t code;
    if (at == text.n) return false;
    take_code(text, at, &code);
    return class_of(code)->posix & POSIX_WORD_ALONE;
}

static bool at_word_edge(Str text, size_t at)
{
    return (at > 0 && word_at(text, step_back(text, at))) != word_at(text, at);
}

static bool match_assertion(Str text, size_t at, Assertion what)
{
    switch (what) {
    case ASSERT_LINE_START: return at == 0 || (text.p[at - 1] == '\n' && at < text.n);
    case ASSERT_LINE_END: return at == text.n || text.p[at] == '\n';
    case ASSERT_START: return at == 0;
    case ASSERT_END: return at == text.n;
    case ASSERT_LAST_LINE: return at == text.n || (at + 1 == text.n && text.p[at] == '\n');
    case ASSERT_WORD: return at_word_edge(text, at);
    case ASSERT_NOT_WORD: return !at_word_edge(text, at);
    }
    return false;
}

/* ---- the machine ---- */
static size_t match_run(RegexMachine *, size_t op, size_t at);

static bool match_look(RegexMachine *m, const RegexOp *op, size_t body, size_t at)
{
    if (!op->behind) return (match_run(m, body, at) != NONE) != op->mode;
    size_t before = m->s->target, start = at;
    m->s->target = at;
    bool found = match_run(m, body, start) != NONE;
    for (int32_t i = 0; !found && start > 0 && (op->b < 0 || i < op->b); i++) {
        start = step_back(m->s->text, start);
        found = match_run(m, body, start) != NONE;
    }
    m->s->target = before;
    return found != op->mode;
}

/* A repeat of one character. Returns where it goes on at first. */
static size_t match_repeat(RegexMachine *m, uint32_t index, size_t at)
{
    const RegexOp *op = &m->re->ops[index];
    Str text = m->s->text;
    size_t next;
    int32_t count = 0;
    for (; count < op->a; count++, at = next)
        if ((next = step_set(text, at, op->set)) == NONE) return NONE;
    if (op->mode == LAZY) {
        match_push(m, index, BACK_LAZY, at, (size_t)(op->b < 0 ? INT32_MAX : op->b - count));
        return at;
    }
    size_t low = at;
    for (; count != op->b && (next = step_set(text, at, op->set)) != NONE; count++) at = next;
    m->s->steps += at - low;
    if (at > low && op->mode == GREEDY) match_push(m, index + 1, BACK_GREEDY, at, low);
    return at;
}

/* Takes the last way not tried; NONE: there is none above `base`. */
static size_t match_backtrack(RegexMachine *m, size_t base, size_t *op)
{
    RegexSearch *s = m->s;
    while (s->depth > base) {
        Back *top = &s->stack[s->depth - 1];
        *op = top->op;
        if (top->kind == BACK_TRY) return s->depth--, top->at;
        if (top->kind == BACK_REGISTER) {
            m->registers[top->op] = top->at;
            s->depth--;
        } else if (top->kind == BACK_GREEDY) {
            top->at = step_back(s->text, top->at);
            if (top->at == top->low) s->depth--;
            return top->at;
        } else {
            size_t next = top->low ? step_set(s->text, top->at, m->re->ops[*op].set) : NONE;
            (*op)++;
            if (next == NONE) {
                s->depth--;
            } else {
                top->low--;
                return top->at = next;
            }
        }
    }
    return NONE;
}

/* One operation: where it goes on, with *op set; NONE: it fails. */
static size_t match_step(RegexMachine *m, size_t *index, size_t at)
{
    const RegexOp *op = &m->re->ops[*index];
    uint32_t code;
    size_t here = (*index)++;
    switch ((OpKind)op->kind) {
    case OP_CHAR:
        if (at == m->s->text.n) return NONE;
        at += take_code(m->s->text, at, &code);
        return code == (uint32_t)op->a ? at : NONE;
    case OP_CLASS: return step_set(m->s->text, at, op->set);
    case OP_LOOP: return match_repeat(m, (uint32_t)here, at);
    case OP_SPLIT:
        match_push(m, (uint32_t)op->b, BACK_TRY, at, 0);
        *index = (size_t)op->a;
        return at;
    case OP_JUMP: *index = (size_t)op->a; return at;
    case OP_ASSERT: return match_assertion(m->s->text, at, (Assertion)op->mode) ? at : NONE;
    case OP_LOOK: *index = (size_t)op->a; return match_look(m, op, here + 1, at) ? at : NONE;
    case OP_ATOMIC: *index = (size_t)op->a; return match_run(m, here + 1, at);
    case OP_ENTER:
        match_push(m, (uint32_t)op->b, BACK_REGISTER, m->registers[op->b], 0);
        m->registers[op->b] = at;
        return at;
    case OP_MOVED:
        if (m->registers[op->b] == at) *index = (size_t)op->a;
        return at;
    case OP_TARGET: return at == m->s->target ? at : NONE;
    case OP_MATCH: return at;
    }
    return NONE;
}

static size_t match_run(RegexMachine *m, size_t op, size_t at)
{
    RegexSearch *s = m->s;
    size_t base = s->depth;
    while (!s->trouble) {
        if (m->re->ops[op].kind == OP_MATCH) return s->depth = base, at;
        if (++s->steps > STEP_LIMIT + STEPS_PER_BYTE * s->text.n)
            s->trouble = "regular expression: gave up on a text after too many steps";
        at = match_step(m, &op, at);
        if (at == NONE && (at = match_backtrack(m, base, &op)) == NONE) return NONE;
    }
    return NONE;
}

bool regex_find(const Regex *re, RegexSearch *s, size_t from, Range *out)
{
    RegexMachine m = { re, s, { 0 } };
    for (size_t at = from; !s->trouble;) {
        s->depth = 0;
        size_t end = match_run(&m, 0, at);
        if (end != NONE) return *out = (Range){ at, end }, true;
        if (at == s->text.n) return false;
        uint32_t code;
        at += take_code(s->text, at, &code);
    }
    return false;
}
