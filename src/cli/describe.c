/* SPDX-License-Identifier: Apache-2.0
 * describe.c - what a package says that is started without a command: what it is, and how to call it. */
#include "base/file.h"
#include "cli/cli.h"
#include "data/json.h"
#include "model/feed.h"

enum { MOST_LABELS = 12 };

static void put_labels(Buf *b, const Model *m)
{
    const int n = task_labels(m->task, &m->config);
    if (!n) return;
    buf_printf(b, "  labels   %d:", n);
    for (int i = 0; i < MIN(n, MOST_LABELS); i++)
        buf_printf(b, "%s %.*s", i ? "," : "", STR_ARG(m->config.labels[i]));
    buf_puts(b, n > MOST_LABELS ? ", ...\n" : "\n");
}

static void put_vectors(Buf *b, const Model *m)
{
    if (!model_makes_vectors(m)) return;
    buf_printf(b, "  vectors  of %d numbers", config_vector_size(&m->config));
    const size_t before = b->n;
    buf_puts(b, ", ");
    model_describe_head(m, b);
    if (b->n == before + 2) b->n = before;
    buf_char(b, '\n');
}

static void put_facts(Buf *b, const Model *m)
{
    const Package *p = &m->package;
    buf_printf(b, "%.*s %.*s: a model for %s and the program that runs it, in one file\n",
               STR_ARG(m->name), STR_ARG(m->version), m->task->name);
    put_labels(b, m);
    buf_puts(b, "  reads    ");
    model_describe_input(m, b);
    buf_char(b, '\n');
    put_vectors(b, m);
    buf_printf(b, "  size     %.1f MB: model %.1f MB in %s, program %.1f MB (encoderfile %s)\n\n",
               (double)p->file.n / 1e6, (double)(p->file.n - p->program_size) / 1e6, m->precision,
               (double)p->program_size / 1e6, EF_VERSION);
}

/* "input_ids int64 [batch_size, 128], as the graph says" */
static void put_feed(Buf *b, const FeedInput *in)
{
    buf_printf(b, "%.*s %s [", STR_ARG(in->name), dtype_name(in->type));
    for (int i = 0; i < in->rank; i++) {
        const char *between = i ? ", " : "";
        if (in->dim[i] >= 0) buf_printf(b, "%s%lld", between, (long long)in->dim[i]);
        else buf_printf(b, "%s%.*s", between, STR_ARG(in->symbol[i].n ? in->symbol[i] : STR("any")));
    }
    buf_printf(b, "], by the %s\n", shape_sources[in->from]);
}

void describe_model(Arena *arena, Buf *b, const Model *m)
{
    Feed feed;
    feed_of(arena, m, &feed);
    buf_printf(b, "%.*s %.*s: a model for %s, in %s\n", STR_ARG(m->name), STR_ARG(m->version), m->task->name,
               m->precision);
    put_labels(b, m);
    buf_puts(b, "  reads    ");
    model_describe_input(m, b);
    buf_printf(b, "\n  give it  %s\n  by its   %s (%s), which feeds\n", m->items->one, feed.processor, feed.kind);
    for (int i = 0; i < feed.n; i++) buf_puts(b, "             "), put_feed(b, &feed.input[i]);
    put_vectors(b, m);
    buf_puts(b, "  --json   shows all of it\n");
}

static void put_calls(Arena *arena, Buf *b, const Model *m, const char *self)
{
    const Str *text;
    const size_t n = task_samples(arena, m->task, &m->config, m->tokenizer, &text);
    const size_t each = MIN(items_each(m->items, n), n);
    buf_printf(b, "  %s infer", self);
    for (size_t i = 0; i < each; i++) buf_printf(b, " \"%.*s\"", STR_ARG(text[i]));
    buf_printf(b, "\n  %s serve            # HTTP on port 8080, gRPC on 50051\n", self);
    if (m->items == &item_pictures)
        buf_puts(b, "  curl localhost:8080/predict -H 'Content-Type: image/jpeg' --data-binary @picture.jpg\n");
    if (m->items == &item_sounds)
        buf_puts(b, "  curl localhost:8080/predict -H 'Content-Type: audio/wav' --data-binary @sound.wav\n");
    if (m->items == &item_texts && n) {
        Value one = value_of_str(text[0]);
        buf_puts(b, "  curl localhost:8080/predict -H 'Content-Type: application/json' -d '{\"inputs\": [");
        json_write(b, &one);
        buf_puts(b, "]}'\n");
    }
    buf_printf(b, "  %s --help           # all commands\n", self);
}

bool describe_self(Args *a, const char *self, Err *err)
{
    Model *m;
    Buf b = { .arena = &a->arena };
    if (!args_model(a, &m, err)) return false;
    put_facts(&b, m);
    put_calls(&a->arena, &b, m, self);
    model_close(m);
    fwrite(b.p, 1, b.n, stderr);
    a->exit = err_kind(EF_USAGE)->exit; /* no command was given: as the Rust encoderfile has it */
    return true;
}
