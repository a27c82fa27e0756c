/* SPDX-License-Identifier: Apache-2.0
 * test_text_models.c - BPE, Unigram, WordLevel and what stands around them, against the reference
 * (tests/golden/text_models, written by tools/oracle/tokenizer_models.py; another file of cases may
 * be given). */
#define GOLDEN "tests/golden/text_models/"
#include "text_replay.h"

int main(int argc, char **argv)
{
    TEST("reference");
    replay_all(argc > 1 ? argv[1] : GOLDEN "cases.jsonl");
    arena_free(&keep);
    return finish();
}
