/* SPDX-License-Identifier: Apache-2.0
 * hub.h - the kinds of `POST /` that are pipelines of transformers, for pipeline.c: with job->in.exact their
 * results are nested as the pipelines' own, and several inputs are taken where these take them. */
#ifndef DIALECT_HUB_H
#define DIALECT_HUB_H
#include "dialect/family.h"

extern const JobKind hub_classify, hub_zero, hub_tag, hub_fill, hub_answer, hub_seen;
extern const Field hub_classify_parameters[], hub_zero_parameters[], hub_tag_parameters[],
    hub_fill_parameters[], hub_answer_parameters[];
bool hub_read_items(const Session *, Job *, const Value *inputs); /* in the model's form */
bool hub_read_form(const Session *, Job *, const ItemForm *, const Value *inputs);
const Field *hub_seen_parameters(const Site *); /* of a model whose kind is hub_seen */

/* hub_pages.c */
extern const JobKind hub_page_question;
extern const Field hub_page_parameters[];
bool hub_reads_pages(const Site *); /* its inputs are pages, not texts */
Value hub_pages_request(Arena *, const Site *, const Field *rows); /* rows NULL: of questions */

#endif
