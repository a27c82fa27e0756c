# SPDX-License-Identifier: Apache-2.0
# openai_calls.py - the openai package against /v1.
import openai

from reference import ST, attempt, finish, same_vectors, tokenizer, url, vector

TEXTS = ["book a bus from pune to rome", "a cheap hotel near the sea", "paris is the capital of france ."]
wanted = [vector(t) for t in TEXTS]
client = openai.OpenAI(base_url=url("embed") + "/v1", api_key="none", max_retries=0)


def embed(**more):
    return client.embeddings.create(model="embed", **more)


def vectors(reply):
    return [d.embedding for d in sorted(reply.data, key=lambda d: d.index)]


attempt("openai", "embeddings.create, base64 (default)", lambda: same_vectors(vectors(embed(input=TEXTS)), wanted), ST)
attempt("openai", "embeddings.create, float",
        lambda: same_vectors(vectors(embed(input=TEXTS, encoding_format="float")), wanted), ST)
attempt("openai", "embeddings.create, one text", lambda: same_vectors(vectors(embed(input=TEXTS[0])), wanted[:1]), ST)
ids = [tokenizer("embed").encode(t).ids for t in TEXTS]
attempt("openai", "embeddings.create, token ids", lambda: same_vectors(vectors(embed(input=ids)), wanted), ST)
attempt("openai", "embeddings.create, ids of one text", lambda: same_vectors(vectors(embed(input=ids[0])), wanted[:1]), ST)
attempt("openai", "embeddings.create, dimensions=8",
        lambda: same_vectors(vectors(embed(input=TEXTS, dimensions=8)), [w[:8] for w in wanted]), ST)
attempt("openai", "embeddings.create, 2048 texts",
        lambda: same_vectors(vectors(embed(input=[TEXTS[i % 3] for i in range(2048)])), [wanted[i % 3] for i in range(2048)]), ST)


def usage():
    n = embed(input=TEXTS).usage
    tokens = sum(len(i) for i in ids)
    return n.prompt_tokens == n.total_tokens == tokens, f"{n.total_tokens} tokens"


attempt("openai", "usage", usage)
attempt("openai", "models.list", lambda: ([m.id for m in client.models.list()] == ["embed"], ""))
attempt("openai", "models.retrieve", lambda: (client.models.retrieve("embed").object == "model", ""))


def error(kind, status, call):
    try:
        call()
    except kind as e:
        return e.status_code == status and bool(e.message), f"{kind.__name__} {e.status_code}"
    return False, "no error"


attempt("openai", "an empty text", lambda: error(openai.UnprocessableEntityError, 422, lambda: embed(input="")))
attempt("openai", "a model that is not there", lambda: error(openai.NotFoundError, 404, lambda: client.models.retrieve("other")))
other = openai.OpenAI(base_url=url("labels") + "/v1", api_key="none", max_retries=0)
attempt("openai", "a model that cannot embed", lambda: error(
    openai.APIStatusError, 424, lambda: other.embeddings.create(model="labels", input="a")))
finish()
