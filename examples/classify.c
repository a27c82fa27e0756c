/* SPDX-License-Identifier: Apache-2.0
 * classify.c - a whole C program around a model: every argument is a text, every text gets an
 * answer.
 *
 *     cc -Iinclude examples/classify.c build/libencoderfile.a -lyaml -llua5.4 -lexpat -lnghttp2 \
 *        -lssl -lcrypto -ljpeg -lpng16 -lwebp -lFLAC -logg -lz -lm -pthread -o classify
 *     ./classify my-ner.encoderfile "Ada Lovelace was born in London" */
#include <encoderfile.h>
#include <stdio.h>

enum { MOST = 64 };

int main(int argc, char **argv)
{
    ef_error err;
    if (argc < 3) return fprintf(stderr, "usage: %s MODEL TEXT...\n", argv[0]), 2;
    ef_model *model = ef_open(argv[1], NULL, &err);
    if (!model) return fprintf(stderr, "%s\n", err.message), 1;

    const ef_info *info = ef_describe(model);
    printf("%s %s: %s on %s\n", info->name, info->version, info->task, info->kernels);

    ef_input texts[MOST];
    size_t count = 0;
    for (int i = 2; i < argc && count < MOST; i++) texts[count++] = ef_text(argv[i]);
    ef_reply *reply = ef_predict(model, texts, count, NULL, &err);
    if (reply) puts(ef_reply_json(reply));
    else fprintf(stderr, "%s\n", err.message);

    const ef_tensor *first = reply ? ef_reply_tensor(reply, 0) : NULL;
    if (first)
        printf("%s of the first text: %d dimensions, %lld numbers in a row\n", first->name,
               first->rank, (long long)first->dim[first->rank - 1]);
    int failed = !reply;
    ef_reply_free(reply);
    ef_close(model);
    return failed;
}
