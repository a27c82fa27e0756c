# SPDX-License-Identifier: Apache-2.0
# cohere_calls.py - cohere's two clients against /v1/rerank and /v2/rerank.
import cohere

from reference import ST, attempt, finish, ranking, same_scores, url

QUERY = "a bus to paris"
TEXTS = ["the bus from pune goes to paris tomorrow", "a very bad film", "book a cheap hotel near the river", "rome is a city"]
wanted = ranking(QUERY, TEXTS)


def equal(results, n):
    return same_scores([(r.index, r.relevance_score) for r in results], wanted[:n])


v2 = cohere.ClientV2(api_key="none", base_url=url("rank"))
v1 = cohere.Client(api_key="none", base_url=url("rank"))
attempt("cohere v2", "rerank", lambda: equal(v2.rerank(model="rank", query=QUERY, documents=TEXTS).results, 4), ST)
attempt("cohere v2", "rerank, top_n=2", lambda: equal(v2.rerank(model="rank", query=QUERY, documents=TEXTS, top_n=2).results, 2), ST)
attempt("cohere v2", "rerank, max_tokens_per_doc", lambda: (
    len(v2.rerank(model="rank", query=QUERY, documents=TEXTS, max_tokens_per_doc=3).results) == 4, ""))
attempt("cohere v1", "rerank", lambda: equal(v1.rerank(model="rank", query=QUERY, documents=TEXTS).results, 4), ST)


def documents():
    results = v1.rerank(model="rank", query=QUERY, documents=[{"text": t} for t in TEXTS], return_documents=True).results
    right, note = equal(results, 4)
    return right and all(r.document.text == TEXTS[r.index] for r in results), note


attempt("cohere v1", "rerank, documents as objects and returned", documents, ST)


def error():
    try:
        v2.rerank(model="rank", query=QUERY, documents=[])
    except cohere.core.ApiError as e:
        return e.status_code == 422, f"{type(e).__name__} {e.status_code}"
    return False, "no error"


attempt("cohere v2", "no documents", error)
finish()
