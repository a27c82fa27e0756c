/* SPDX-License-Identifier: Apache-2.0
 * habits.c - what users of other tools type (text-embeddings-inference, llama.cpp, vLLM, uvicorn,
 * Optimum, transformers). Where an option of ours means the same it is taken; else the answer says
 * what to do instead. Looked at after the command's own rows. */
#include "cli/cli.h"

static const struct Habit {
    const char *name;      /* without dashes; a letter alone: "-p" */
    const char *ours;      /* options that mean the same, one space between: the first that the
                            * command has; NULL: none */
    const char *answer;    /* where it has none of them */
} habits[] = {
    /* addresses */
    { "host", "http-hostname hostname", NULL },
    { "ip", "http-hostname hostname", NULL },
    { "address", "http-hostname hostname", NULL },
    { "p", "http-port port", NULL },
    { "uds-path", "unix-socket", NULL },
    { "uds", "unix-socket", NULL },
    { "prometheus-port", NULL, "metrics are at /metrics of the HTTP port" },
    /* models */
    { "model-id", "model", NULL },
    { "model-path", "model", NULL },
    { "model-dir", "model", NULL },
    { "model-name-or-path", "model", NULL },
    { "revision", NULL, "a revision is part of the name: --model NAME@REVISION" },
    { "pipeline-tag", "task", NULL },
    { "pipeline", "task", NULL },
    { "image-processor", "processor", NULL },
    { "feature-extractor", "processor", NULL },
    { "data-processor", "processor", NULL },
    { "trust-remote-code", NULL, "no code of a model is ever run; leave it out" },
    { "hf-token", NULL, "the variable HF_TOKEN says it" },
    { "hf-api-token", NULL, "the variable HF_TOKEN says it" },
    { "huggingface-hub-cache", NULL, "the variable HF_HUB_CACHE says it" },
    /* numbers and CPUs */
    { "dtype", "precision", "a model runs in the precision of its file; `build --precision bf16` or "
               "`int8` makes a smaller one" },
    { "quantization", "precision", "`build --precision int8` or `quantize` makes such a model" },
    { "quantize", "precision", "`build --precision int8` or `quantize` makes such a model" },
    { "num-threads", "threads", NULL },
    { "cpu-threads", "threads", NULL },
    { "t", "threads", NULL },
    { "workers", NULL, "one process answers everyone; --threads says how many CPUs it uses" },
    { "tokenization-workers", NULL, "the threads that compute also tokenize; --threads says how many" },
    { "num-workers", NULL, "one process answers everyone; --threads says how many CPUs it uses" },
    { "n-gpu-layers", NULL, "this program runs on CPUs" },
    { "ngl", NULL, "this program runs on CPUs" },
    { "gpus", NULL, "this program runs on CPUs" },
    /* limits */
    { "max-batch-tokens", "batch-tokens", NULL },
    { "max-concurrent-requests", "queue", NULL },
    { "max-client-batch-size", "max-inputs", NULL },
    { "payload-limit", "max-body", NULL },
    { "timeout", "request-timeout", NULL },
    { "timeout-keep-alive", "idle-timeout", NULL },
    { "limit-concurrency", "max-connections", NULL },
    { "max-batch-requests", NULL, "batches end by --batch-tokens and --batch-ms" },
    { "batch-size", NULL, "batches are made by tokens and time; `serve` has --batch-tokens" },
    { "b", NULL, "batches are made by tokens and time; `serve` has --batch-tokens" },
    { "max-model-len", "max-length", "a package's limit is set by `build --max-length N`" },
    { "max-seq-length", "max-length", "a package's limit is set by `build --max-length N`" },
    { "max-length", NULL, "a package's limit is set by `build --max-length N`" },
    { "ctx-size", "max-length", "a package's limit is set by `build --max-length N`" },
    { "auto-truncate", NULL, "texts are cut to the model's limit anyway; a request with "
                             "\"truncate\": false refuses longer ones" },
    { "default-prompt-name", NULL, "requests name a prompt by prompt_name" },
    { "default-prompt", NULL, "requests name a prompt by prompt_name" },
    /* security and logs */
    { "ssl-certfile", "cert-file", NULL },
    { "ssl-cert-file", "cert-file", NULL },
    { "ssl-keyfile", "key-file", NULL },
    { "ssl-key-file", "key-file", NULL },
    { "ssl-ca-certs", "client-ca-file", NULL },
    { "cors-allow-origin", "cors-origin", NULL },
    { "otlp-endpoint", "otel-exporter-url", NULL },
    { "json-output", NULL, "--access-log json writes a line for each request" },
    /* files and texts */
    { "output", "output-path", NULL },
    { "out", "output-path output", NULL },
    { "output-file", "output-path output", NULL },
    { "input-file", "input", NULL },
    { "text", NULL, "texts stand on the line without an option" },
    { "inputs", NULL, "texts stand on the line without an option" },
};

static const char *const command_habits[][2] = { /* what is typed, and our name for it */
    { "pipeline", "run" }, { "pipe", "run" }, { "predict", "infer" }, { "embed", "infer" }, { "classify", "infer" },
    { "start", "serve" }, { "server", "serve" }, { "convert", "export" }, { "pack", "build" },
    { "create", "build" }, { "benchmark", "bench" }, { "show", "inspect" }, { "info", "inspect" },
    { "pull", "build" }, { "download", "build" },
};

const char *habit_command(const char *typed)
{
    for (size_t i = 0; i < COUNT(command_habits); i++)
        if (strcmp(command_habits[i][0], typed) == 0) return command_habits[i][1];
    return NULL;
}

/* The command's row that a list names first. */
static const Option *first_of(const Command *c, const char *list)
{
    for (const char *name = list; name; name = strchr(name, ' '), name += name != NULL) {
        const Option *o;
        const size_t n = strcspn(name, " ");
        for (int i = 0; (o = command_option(c, i)); i++)
            if (strlen(o->name) == n && strncmp(o->name, name, n) == 0) return o;
    }
    return NULL;
}

static const struct Habit *find_habit(Str typed)
{
    for (size_t i = 0; i < COUNT(habits); i++)
        if (option_typed(typed, habits[i].name)) return &habits[i];
    return NULL;
}

/* Takes what runs on a CPU, and says of anything else what it takes. */
static const char *const device_words[] = { "cpu", "auto", NULL };
static const Option device = { "device", 0, "NAME", NULL, TAKES_WORD, .words = device_words };

const Option *habit_option(const Command *c, Str name)
{
    const struct Habit *h = find_habit(name);
    if (str_is(name, device.name) && first_of(c, "model")) return &device;
    return h ? first_of(c, h->ours) : NULL;
}

const char *habit_answer(Str name)
{
    const struct Habit *h = find_habit(name);
    return h ? h->answer : NULL;
}

const Option *habit_port(const Command *c)
{
    return first_of(c, "http-port port");
}
