# SPDX-License-Identifier: Apache-2.0
"""Calls that sentence-transformers, transformers and Optimum answered (tools/oracle/python_faces.py wrote the answers into
tests/golden/python), and that our classes with the same names must answer alike. A case is a function of the classes."""
from __future__ import annotations

import base64
import contextlib
import functools
import io
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from typing import Any, Callable

import numpy as np

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden")
EXAMPLES = os.path.join(GOLDEN, "..", "..", "examples")
TEXTS = ["The cat sat on the mat.", "a", "query: what is a cat? It is an animal; the animal sat on the mat, and sat, and sat again.",
         "Grüße, 東京!", "the dog"]
PAIRS = [("the cat", "sat on the mat"), ("a query", "an answer"), ("x", "the dog sat on the mat and looked at the cat")]
Case = Callable[[Any], Any]


def rows(n: int, dim: int, seed: int) -> Any:
    return np.random.default_rng(seed).standard_normal((n, dim)).astype(np.float32)


# ---- SentenceTransformer ----

def _sentence(folder: str) -> dict[str, Case]:
    def model(c: Any, **options: Any) -> Any:
        """One text at a time where padding stands in front: there it moves a text's positions, in torch."""
        made = c.SentenceTransformer(os.path.join(GOLDEN, "sentence", folder), **options)
        if folder == "last":
            for name in ("encode", "encode_query", "encode_document"):
                setattr(made, name, functools.partial(getattr(made, name), batch_size=1))
        return made

    def length(c: Any, value: int) -> Any:
        m = model(c)
        m.max_seq_length = value
        return [m.max_seq_length, m.encode(TEXTS)]

    def truncated(c: Any) -> Any:
        m = model(c)
        with m.truncate_embeddings(5):
            inside = [list(m.encode("a").shape), m.get_embedding_dimension()]
        return [inside, m.encode("a").shape, m.get_embedding_dimension()]

    return {
        "text": lambda c: model(c).encode("the cat"),
        "list": lambda c: model(c).encode(TEXTS),
        "list of one": lambda c: model(c).encode(["a"]),
        "tuple": lambda c: model(c).encode(("the cat", "the dog")),
        "array": lambda c: model(c).encode(np.array(["the cat", "the dog"])),
        "nothing": lambda c: model(c).encode([]),
        "empty text": lambda c: model(c).encode(["", "the cat", ""]),
        "empty text alone": lambda c: model(c).encode(""),
        "dict": lambda c: model(c).encode({"text": "the cat"}),
        "pair": lambda c: model(c).encode([("the cat", "sat")]),
        "sentences": lambda c: model(c).encode(sentences=["the cat"]),
        "normalized": lambda c: model(c).encode(TEXTS, normalize_embeddings=True),
        "truncated": lambda c: model(c).encode(TEXTS, truncate_dim=3),
        "truncated and normalized": lambda c: model(c).encode(TEXTS, truncate_dim=3, normalize_embeddings=True),
        "truncated by the constructor": lambda c: model(c, truncate_dim=4).encode(TEXTS),
        "truncated within": truncated,
        "prompt": lambda c: model(c).encode(TEXTS, prompt="passage: "),
        "own prompts": lambda c: model(c, prompts={"mine": "the text: "}).encode(TEXTS, prompt_name="mine"),
        "default prompt": lambda c: model(c, prompts={"mine": "the text: "}, default_prompt_name="mine").encode(TEXTS),
        "default prompt passed over": lambda c: model(c, prompts={"mine": "the text: "}, default_prompt_name="mine").encode_document("a"),
        "query": lambda c: model(c).encode_query(TEXTS),
        "document": lambda c: model(c).encode_document(TEXTS),
        "unknown prompt": lambda c: model(c).encode("a", prompt_name="foo"),
        "unknown default": lambda c: model(c, default_prompt_name="foo"),
        "binary": lambda c: model(c).encode(TEXTS, precision="binary"),
        "ubinary": lambda c: model(c).encode(TEXTS, precision="ubinary"),
        "one int8": lambda c: model(c).encode("a", precision="int8"),
        "unknown precision": lambda c: model(c).encode("a", precision="int4"),
        "token embeddings": lambda c: model(c).encode(TEXTS, output_value="token_embeddings"),
        "token embeddings of one": lambda c: model(c).encode("the cat", output_value="token_embeddings"),
        "all features": lambda c: sorted_dicts(model(c).encode(["the cat"], output_value=None)),
        "shorter": lambda c: length(c, 6),
        "pool": lambda c: (lambda m: m.encode(TEXTS[:2], chunk_size=None, batch_size=1))(model(c)),
        "batch 0": lambda c: model(c).encode(["a"], batch_size=0),
        "None": lambda c: model(c).encode(None),
        "number": lambda c: model(c).encode(5),
        "list of None": lambda c: model(c).encode([None]),
        "unknown keyword": lambda c: model(c).encode("a", foo=1),
        "dimension": lambda c: [model(c).get_embedding_dimension(), model(c, truncate_dim=3).get_embedding_dimension()],
        "prompts": lambda c: model(c).prompts,
        "length": lambda c: model(c).max_seq_length,
        "modules": lambda c: len(model(c)),
        "preprocess": lambda c: dict(model(c).preprocess(TEXTS)),
        "preprocess with a prompt": lambda c: dict(model(c).preprocess(TEXTS, prompt="query: ")),
        "similarity": lambda c: model(c).similarity(rows(2, 4, 1), rows(3, 4, 2)),
        "similarity of one": lambda c: model(c).similarity(rows(1, 4, 1)[0], rows(3, 4, 2)),
        "similarity of doubles": lambda c: model(c).similarity(rows(2, 4, 1).astype(np.float64), rows(3, 4, 2).astype(np.float64)),
        "similarity of lists": lambda c: model(c).similarity(rows(2, 4, 1).tolist(), rows(3, 4, 2).tolist()),
        "pairwise": lambda c: model(c).similarity_pairwise(rows(3, 4, 1), rows(3, 4, 2)),
        **{f"similarity {name}": (lambda c, name=name: model(c, similarity_fn_name=name).similarity(rows(2, 4, 1), rows(3, 4, 2)))
           for name in ("cosine", "dot", "euclidean", "manhattan")},
        **{f"pairwise {name}": (lambda c, name=name: model(c, similarity_fn_name=name).similarity_pairwise(rows(3, 4, 1), rows(3, 4, 2)))
           for name in ("cosine", "dot", "euclidean", "manhattan")},
        "similarity name": lambda c: model(c).similarity_fn_name,
    }


MODEL, MASKS, ONE = os.path.join("sentence", "mean"), os.path.join("pipelines", "masks"), os.path.join("pipelines", "one")
SEVERAL = os.path.join("pipelines", "several")


@contextlib.contextmanager
def changed(folder: str, **files: dict[str, Any] | list[Any]) -> Iterator[str]:
    """A copy of a model's folder with keys of its JSON files set: config={"a": 1} is config.json; a list is the whole file."""
    with tempfile.TemporaryDirectory() as made:
        copy = os.path.join(made, "model")
        shutil.copytree(os.path.join(GOLDEN, folder), copy)
        for name, value in files.items():
            path = os.path.join(copy, name + ".json")
            if isinstance(value, dict) and os.path.isfile(path):
                with open(path, encoding="utf-8") as file:
                    value = {**json.load(file), **value}
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                json.dump(value, file)
        yield copy


def with_config(call: Callable[[Any], Any], model: str = "SentenceTransformer", folder: str = MODEL, **config: Any) -> Case:
    """call of a model whose config_sentence_transformers.json says so."""
    def case(c: Any) -> Any:
        with changed(folder, config_sentence_transformers={"model_type": model, **config}) as path:
            return call(getattr(c, model)(path))

    return case


def saved(model: str, folder: str, call: Callable[[Any], Any], change: Callable[[Any], Any] = lambda m: None, **options: Any) -> Case:
    """call of a model that was opened with options, changed, saved and opened again."""
    def case(c: Any) -> Any:
        with tempfile.TemporaryDirectory() as made:
            first = getattr(c, model)(os.path.join(GOLDEN, folder), **options)
            change(first)
            first.save(os.path.join(made, "saved"))
            return call(getattr(c, model)(os.path.join(made, "saved")))

    return case


def _sentence_more() -> dict[str, Case]:
    """Settings of config_sentence_transformers.json, and what user code touches beside encode."""
    def model(c: Any, **options: Any) -> Any:
        return c.SentenceTransformer(os.path.join(GOLDEN, MODEL), **options)

    def cut(m: Any) -> Any:
        with m.truncate_embeddings(None):
            whole = m.get_embedding_dimension()
        return [m.truncate_dim, m.get_embedding_dimension(), whole, m.encode(TEXTS), m.encode("a", truncate_dim=7).shape]

    def settings(m: Any) -> Any:
        return [m.prompts, m.default_prompt_name, m.similarity_fn_name, m.truncate_dim, m.max_seq_length, len(m), m.encode(TEXTS)]

    def shorter(m: Any) -> None:
        m.max_seq_length, m.similarity_fn_name, m.truncate_dim = 6, "manhattan", 9
        m.prompts["mine"] = "the text: "

    def cut_left(c: Any) -> Any:
        with changed(MODEL, tokenizer_config={"truncation_side": "left"}) as path:
            m = c.SentenceTransformer(path)
            return [m.encode(TEXTS), length_of(m, 6), m.encode(TEXTS, output_value="token_embeddings")]

    def cut_by_tokenizer(m: Any) -> Any:
        m.tokenizer.truncation_side = "left"
        return m

    def length_of(m: Any, value: int) -> Any:
        m.max_seq_length = value
        return m.encode(TEXTS)

    def limited(c: Any, **settings: Any) -> Any:
        with changed(MODEL, sentence_bert_config=settings) as path:
            return c.SentenceTransformer(path).encode(TEXTS)

    def evaluated(c: Any) -> Any:
        with tempfile.TemporaryDirectory() as made:
            out = os.path.join(made, "new", "folder")
            return model(c).evaluate(lambda m, path: {"dims": len(m.encode("a")), "made": os.path.isdir(path), "same": path == out}, out)

    def others(m: Any) -> Any:
        return [type(m[0]).__name__, type(m[1]).__name__, type(m._first_module()).__name__, type(m._last_module()).__name__,
                [name for name, _ in m.named_children()], [type(one).__name__ for one in m], m[0].max_seq_length, m[0].get_embedding_dimension(),
                m[1].pooling_mode, m[1].include_prompt, m[1].get_embedding_dimension(), m.config.hidden_size, str(m.device),
                m.modalities, m.supports("text"), m.supports("image"), m.get_backend()]

    def chained(m: Any) -> Any:
        return [one is m for one in (m.eval(), m.train(False), m.requires_grad_(False), m.to("cpu"), m.cpu(), m.float())]

    return {
        "own width": with_config(cut, truncate_dim=5),
        "own width, given": lambda c: with_truncation(c, 6),
        "own width, whole": with_config(cut, truncate_dim=100),
        "own width, binary": with_config(lambda m: m.encode(TEXTS, precision="ubinary"), truncate_dim=9),
        "own width, normalized": with_config(lambda m: m.encode(TEXTS, normalize_embeddings=True), truncate_dim=5),
        "own similarity": with_config(lambda m: [m.similarity_fn_name, m.similarity(rows(2, 4, 1), rows(3, 4, 2))], similarity_fn_name="euclidean"),
        "own similarity, of tokens": with_config(lambda m: m.similarity_fn_name, similarity_fn_name="maxsim"),
        "prompts, one of None": lambda c: (lambda m: [m.prompts, m.encode_query("a")])(model(c, prompts={"query": None, "mine": "the "})),
        "own prompts and others": with_config(lambda m: list(m.prompts), prompts={"extra": "the ", "document": "text: "}),
        "own default prompt": with_config(lambda m: m.encode(TEXTS), prompts={"extra": "the "}, default_prompt_name="extra"),
        "own default prompt that is not there": with_config(lambda m: m.encode(TEXTS), default_prompt_name="extra"),
        "saved": saved("SentenceTransformer", MODEL, settings, shorter),
        "saved with prompts": saved("SentenceTransformer", MODEL, settings, prompts={"mine": "the text: "}, default_prompt_name="mine"),
        "saved without modules.json": saved("SentenceTransformer", os.path.join("pipelines", "vectors"), settings, shorter),
        "length of the constructor": lambda c: model(c, processor_kwargs={"model_max_length": 6}).encode(TEXTS),
        "evaluated": evaluated,
        "cut in front, by the constructor": lambda c: model(c, processor_kwargs={"truncation_side": "left", "model_max_length": 6}).encode(TEXTS),
        "cut in front, by the tokenizer": lambda c: cut_by_tokenizer(model(c)).encode([*TEXTS, "the cat " * 40]),
        "settings that change nothing": lambda c: model(c, tokenizer_kwargs={"padding_side": "right"}, config_kwargs={"hidden_size": 16}).encode(TEXTS),
        "cut in front": cut_left,
        "pairs behind a prompt of no name": with_config(lambda m: m.encode([*PAIRS, ("the cat " * 9, "sat " * 9)], prompt="query: "),
                                                        prompts={"extra": "the "}, default_prompt_name="extra"),
        "token embeddings of pairs": lambda c: model(c).encode([*PAIRS, ("the cat " * 9, "sat " * 9)], output_value="token_embeddings"),
        "pairs with an empty text": lambda c: model(c).encode([("the cat", ""), ("", "sat"), ("", ""), ("a", "b")]),
        "pairs with an empty text, behind a prompt": lambda c: model(c).encode([("the cat", ""), ("", "sat"), ("", "")], prompt="the "),
        "pairs with an empty text, without modules.json": lambda c: c.SentenceTransformer(os.path.join(GOLDEN, "strides", "roberta")).encode(
            [("the cat", ""), ("", "sat"), ("a", "b")]),
        "length of every call": lambda c: limited(c, max_seq_length=20, processing_kwargs={"text": {"max_length": 6}}),
        "length of the tokenizer": lambda c: limited(c, max_seq_length=20, tokenizer_args={"model_max_length": 6}),
        "other attributes": lambda c: others(model(c)),
        "other attributes without modules.json": lambda c: others(c.SentenceTransformer(os.path.join(GOLDEN, "pipelines", "vectors"))),
        "chained calls": lambda c: chained(model(c)),
        "device of the call": lambda c: model(c).encode("a", device="cpu"),
        "rows of another feature": lambda c: model(c).encode(["the cat"], output_value="input_ids"),
        "unknown feature": lambda c: model(c).encode(["the cat"], output_value="foo"),
        "token embeddings in bits": lambda c: model(c).encode(TEXTS, output_value="token_embeddings", precision="ubinary"),
        **{f"pairwise {name} of vectors": (lambda c, name=name: model(c, similarity_fn_name=name).similarity_pairwise(rows(3, 4, 1)[0], rows(3, 4, 2)[0]))
           for name in ("cosine", "dot", "euclidean", "manhattan")},
    }


def _sentence_pooled() -> dict[str, Case]:
    """Ways of pooling that the library itself has no option for."""
    def pooled(call: Callable[[Any], Any], **settings: Any) -> Case:
        def case(c: Any) -> Any:
            modules = [{"idx": i, "name": str(i), "path": path, "type": "sentence_transformers.models." + kind}
                       for i, (path, kind) in enumerate((("", "Transformer"), ("1_Ways", "Pooling")))]
            words = {"normalizer": None, "pre_tokenizer": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}}
            with changed(MODEL, **{"modules": modules, "1_Ways/config": {"embedding_dimension": 16, **settings},
                                   "tokenizer": words if settings.get("include_prompt") is False else {},
                                   "tokenizer_config": {"tokenizer_class": "PreTrainedTokenizerFast"},
                                   "config_sentence_transformers": {"prompts": {"query": "the cat: "}}}) as path:
                return call(c.SentenceTransformer(path))

        return case

    def dropped(c: Any) -> Any:
        """Dropout is of training: it changes nothing, whichever way the texts go."""
        modules = [{"idx": i, "name": str(i), "path": path, "type": "sentence_transformers.models." + kind}
                   for i, (path, kind) in enumerate((("", "Transformer"), ("1_Ways", "Pooling"), ("2_Dropout", "Dropout")))]
        with changed(MODEL, **{"modules": modules, "1_Ways/config": {"embedding_dimension": 16, "pooling_mode": "mean"},
                               "2_Dropout/config": {"dropout": 0.3}}) as path:
            m = c.SentenceTransformer(path)
            return [m.encode(["", *TEXTS]), m.encode(TEXTS[:2], output_value="token_embeddings")]

    return {
        "dropout": dropped,
        "an order of its own": pooled(lambda m: [m[1].pooling_mode, m[1].get_embedding_dimension(), m.encode(TEXTS)], pooling_mode=["mean", "cls"]),
        "the usual order": pooled(lambda m: m.encode(TEXTS), pooling_mode=["cls", "mean"]),
        "first behind the prompt": pooled(lambda m: m.encode_query(TEXTS), pooling_mode="cls", include_prompt=False),
        "a prompt that ends in a token of a space": pooled(lambda m: m.encode_query(TEXTS), pooling_mode="mean", include_prompt=False),
        "largest": pooled(lambda m: m.encode_query(TEXTS), pooling_mode="max", include_prompt=False),
    }


def with_truncation(c: Any, dims: int) -> Any:
    with changed(MODEL, config_sentence_transformers={"truncate_dim": 5}) as path:
        m = c.SentenceTransformer(path, truncate_dim=dims)
        return [m.truncate_dim, m.encode(TEXTS)]


def _cross_more() -> dict[str, Case]:
    def scores(m: Any) -> Any:
        return [repr(m.activation_fn), m.prompts, m.max_seq_length, len(m), m.config.num_labels, m.predict(PAIRS)]

    def old(**config: Any) -> Case:
        def case(c: Any) -> Any:
            with changed(ONE, config=config) as path:
                return scores(c.CrossEncoder(path))

        return case

    def named(name: str) -> Case:
        """As sentence-transformers 6 saves a model: it names the activation beside the prompts."""
        def case(c: Any) -> Any:
            first = {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.base.modules.transformer.Transformer"}
            task = {"transformer_task": "sequence-classification", "module_output_name": "scores",
                    "modality_config": {"text": {"method": "forward", "method_output_name": "logits"}}}
            with changed(ONE, modules=[first], sentence_bert_config=task,
                         config_sentence_transformers={"model_type": "CrossEncoder", "activation_fn": name, "prompts": {"q": "the "}}) as path:
                return scores(c.CrossEncoder(path))

        return case

    def no_class(c: Any) -> Any:
        """It has no types of second texts, whichever way the texts go."""
        with changed(ONE, tokenizer_config={"tokenizer_class": "TokenizersBackend"}) as path:
            return c.CrossEncoder(path).predict([*PAIRS, ("the cat", ""), ("the cat " * 30, "sat on the mat " * 30)])

    def several(c: Any) -> Any:
        """Regression of several numbers: config.json has no names for them."""
        with changed(SEVERAL, config={"problem_type": "regression", "id2label": None, "label2id": None, "num_labels": 3}) as path:
            m = c.CrossEncoder(path)
            return [m.config.num_labels, m.predict(PAIRS)]

    def cut_left(c: Any) -> Any:
        with changed(ONE, tokenizer_config={"truncation_side": "left"}) as path:
            m = c.CrossEncoder(path)
            long = [*PAIRS, ("the cat " * 30, "sat on the mat " * 30)]
            before = m.predict(long)
            m.max_length = 8
            return [before, m.predict(long)]

    return {
        "no activation": named("torch.nn.modules.linear.Identity"),
        "sigmoid": named("torch.nn.modules.activation.Sigmoid"),
        "activation of others": named("os.getcwd"),
        "no activation, in config.json": old(sentence_transformers={"activation_fn": "torch.nn.modules.linear.Identity"}),
        "no activation, in older models": old(sbert_ce_default_activation_function="torch.nn.modules.linear.Identity"),
        "cut in front": cut_left,
        "cut in front, by the constructor": lambda c: c.CrossEncoder(os.path.join(GOLDEN, ONE), max_length=8, processor_kwargs={
            "truncation_side": "left"}).predict([*PAIRS, ("the cat " * 30, "sat on the mat " * 30)]),
        "empty text of a saved one": saved("CrossEncoder", ONE, lambda m: m.predict([("the cat", ""), *PAIRS])),
        "numbers of no name": several,
        "saved": saved("CrossEncoder", ONE, scores, prompts={"q": "the "}, default_prompt_name="q", max_length=8),
        "without effect": lambda c: c.CrossEncoder(os.path.join(GOLDEN, ONE)).predict(PAIRS, num_workers=2, device="cpu", foo=1),
        "a tokenizer of no class": no_class,
    }


def _sparse_more() -> dict[str, Case]:
    def pooled(**settings: Any) -> Case:
        def case(c: Any) -> Any:
            kinds = ("sparse_encoder.modules.mlm_transformer.MLMTransformer", "sparse_encoder.modules.splade_pooling.SpladePooling")
            modules = [{"idx": i, "name": str(i), "path": "1_SpladePooling" if i else "", "type": "sentence_transformers." + kind}
                       for i, kind in enumerate(kinds)]
            with changed(MASKS, **{"modules": modules, "1_SpladePooling/config": settings,
                                   "config_sentence_transformers": {"model_type": "SparseEncoder", "max_active_dims": 9}}) as path:
                m = c.SparseEncoder(path)
                return [m.max_active_dims, m.similarity_fn_name, len(m), type(m[1]).__name__, m[1].pooling_strategy,
                        dense(m.encode(["the cat sat", "", "a dog"])), dense(m.encode(["the cat sat"], max_active_dims=200))]

        return case

    return {
        **{f"pooled by {strategy} {act}": pooled(pooling_strategy=strategy, activation_function=act)
           for strategy in ("max", "sum") for act in ("relu", "log1p_relu")},
        "saved": saved("SparseEncoder", MASKS, lambda m: [m.max_active_dims, len(m), dense(m.encode("the cat"))], max_active_dims=4),
        "modules": lambda c: len(c.SparseEncoder(os.path.join(GOLDEN, MASKS))),
    }


def sorted_dicts(found: list[dict[str, Any]]) -> Any:
    """Their keys come in the order of modules, which callers do not depend on."""
    return [{name: one[name] for name in sorted(one)} for one in found]


def _quantize() -> dict[str, Case]:
    many, few = rows(120, 20, 3), rows(4, 20, 4)
    out: dict[str, Case] = {}
    for precision in ("float32", "int8", "uint8", "binary", "ubinary"):
        out[precision] = lambda c, p=precision: c.quantize_embeddings(many, p)
        out[precision + " few"] = lambda c, p=precision: c.quantize_embeddings(few, p)
        out[precision + " ranges"] = lambda c, p=precision: c.quantize_embeddings(few, p, ranges=np.array([[-1.0] * 20, [1.0] * 20]))
        out[precision + " calibrated"] = lambda c, p=precision: c.quantize_embeddings(few, p, calibration_embeddings=many)
        out[precision + " one"] = lambda c, p=precision: c.quantize_embeddings(few[:1], p)
        out[precision + " empty"] = lambda c, p=precision: c.quantize_embeddings([], p)
    out["of int8"] = lambda c: c.quantize_embeddings(few.astype(np.int8), "int8")
    out["unknown"] = lambda c: c.quantize_embeddings(few, "int4")
    return out


def _util() -> dict[str, Case]:
    a, b = rows(6, 5, 7), rows(8, 5, 8)
    names = ("cos_sim", "dot_score", "euclidean_sim", "manhattan_sim")
    return {
        **{name: (lambda c, name=name: getattr(c.util, name)(a, b)) for name in names},
        **{"pairwise_" + name: (lambda c, name=name: getattr(c.util, "pairwise_" + name)(a, b[:6])) for name in names},
        "semantic_search": lambda c: c.util.semantic_search(a, b, top_k=3),
        "community_detection": lambda c: c.util.community_detection(np.concatenate([a, a + 0.01, b]), min_community_size=2),
        **{f"communities that overlap, {least}": (lambda c, least=least: c.util.community_detection(rows(40, 3, 11), 0.5, least)) for least in (1, 2, 5)},
        "pairs that are alike": lambda c: c.util.paraphrase_mining_embeddings(rows(12, 4, 12), top_k=2, query_chunk_size=5),
        "some of them": lambda c: c.util.paraphrase_mining_embeddings(rows(12, 4, 12), max_pairs=7, score_function=c.util.dot_score),
        "texts that are alike": lambda c: c.util.paraphrase_mining(c.SentenceTransformer(os.path.join(GOLDEN, MODEL)), TEXTS, top_k=1, batch_size=1),
        **{name + " of nothing": (lambda c, name=name: getattr(c.util, name)(a[:0], b)) for name in names},
    }


# ---- CrossEncoder ----

def _cross(folder: str) -> dict[str, Case]:
    def model(c: Any, **options: Any) -> Any:
        return c.CrossEncoder(os.path.join(GOLDEN, "pipelines", folder), **options)

    return {
        "pair": lambda c: model(c).predict(("the cat", "sat")),
        "pair as a list": lambda c: model(c).predict(["the cat", "sat"]),
        "pairs": lambda c: model(c).predict(PAIRS),
        "lists": lambda c: model(c).predict([list(one) for one in PAIRS]),
        "array": lambda c: model(c).predict(np.array(PAIRS)),
        "nothing": lambda c: model(c).predict([]),
        "empty text": lambda c: model(c).predict([("the cat", ""), ("", "sat")]),
        "softmax": lambda c: model(c).predict(PAIRS, apply_softmax=True),
        "batch 0": lambda c: model(c).predict(PAIRS, batch_size=0),
        "short": lambda c: model(c, max_length=8).predict(PAIRS),
        "rank": lambda c: model(c).rank("the cat", ["sat on the mat", "an answer", "the dog"]),
        "rank with texts": lambda c: model(c).rank("the cat", ["sat on the mat", "an answer", "the dog"], return_documents=True, top_k=2),
        "rank of nothing": lambda c: model(c).rank("the cat", []),
        "labels": lambda c: model(c).num_labels,
    }


# ---- SparseEncoder ----

def _sparse() -> dict[str, Case]:
    def model(c: Any, **options: Any) -> Any:
        return c.SparseEncoder(os.path.join(GOLDEN, "pipelines", "masks"), **options)

    def shorter(c: Any) -> Any:
        m = model(c)
        m.max_seq_length = 5
        return dense(m.encode(texts))

    texts = ["the cat sat", "a dog"]
    return {
        "text": lambda c: dense(model(c).encode("the cat sat")),
        "list": lambda c: dense(model(c).encode(texts)),
        "dense": lambda c: model(c).encode(texts, convert_to_sparse_tensor=False),
        "rows": lambda c: [dense(one) for one in model(c).encode(texts, convert_to_tensor=False)],
        "few": lambda c: dense(model(c).encode(texts, max_active_dims=5)),
        "decoded": lambda c: (lambda m: m.decode(m.encode(texts), top_k=4))(model(c)),
        "decoded one": lambda c: (lambda m: m.decode(m.encode("a dog"), top_k=4))(model(c)),
        "sparsity": lambda c: (lambda m: m.sparsity(m.encode(texts)))(model(c)),
        "intersection": lambda c: (lambda m: dense(m.intersection(m.encode("a dog"), m.encode("the cat sat"))))(model(c)),
        "similarity": lambda c: (lambda m: m.similarity(m.encode(texts), m.encode(texts)))(model(c)),
        "as Haystack reads it": lambda c: [(lambda s: [len(s.indices()[0].tolist()), len(s.values().tolist())])(one.coalesce())
                                           for one in model(c).encode(texts, convert_to_tensor=False)],
        "empty text": lambda c: dense(model(c).encode("")),
        "empty text among others": lambda c: dense(model(c).encode(["", "the cat", ""])),
        "empty text with a prompt": lambda c: dense(model(c).encode("", prompt="the ")),
        "nothing": lambda c: [dense(model(c).encode([])), model(c).encode([], convert_to_tensor=False)],
        "pair": lambda c: dense(model(c).encode([("the cat", "sat")], prompt="a ")),
        "prompt": lambda c: dense(model(c, prompts={"mine": "the dog: "}).encode(texts, prompt_name="mine")),
        "default prompt": lambda c: dense(model(c, prompts={"mine": "the dog: "}, default_prompt_name="mine").encode(texts)),
        "shorter": shorter,
        "shorter this once": lambda c: dense(model(c).encode(texts, processing_kwargs={"text": {"max_length": 4}})),
        "dimension": lambda c: (lambda m: [list(m.encode("a").shape), m.get_embedding_dimension()])(model(c)),  # theirs is right after a call
        "length": lambda c: model(c).max_seq_length,
        "no dims": lambda c: model(c).encode("a", max_active_dims=0),
        "unknown keyword": lambda c: model(c).encode("a", foo=1),
        "None": lambda c: model(c).encode(None),
        "batch 0": lambda c: model(c).encode(["a"], batch_size=0),
        "top_k 0": lambda c: (lambda m: m.decode(m.encode("a dog"), top_k=0))(model(c)),
    }


def dense(sparse: Any) -> Any:
    return sparse.to_dense()


# ---- tokenizers ----

TOKENIZERS = ["bus-ner", "sentence/mean", "pipelines/labels", "text_models/c_roberta", "text_models/c_gpt2", "text_models/c_mpnet",
              "text_models/c_cased"]


def tokenizer_path(name: str) -> str:
    return os.path.join(EXAMPLES, name) if name == "bus-ner" else os.path.join(GOLDEN, name)


def _tokenizer(name: str) -> dict[str, Case]:
    def tok(c: Any) -> Any:
        return c.AutoTokenizer.from_pretrained(tokenizer_path(name))

    def call(*args: Any, **options: Any) -> Case:
        return lambda c: dict(tok(c)(*args, **options))

    long = TEXTS[2]
    return {
        "text": call("the cat sat"),
        "texts": call(TEXTS),
        "pair": call("the cat", "sat down"),
        "pairs": call(["the cat", "a dog"], ["sat down", "ran"]),
        "tuples": call([("the cat", "sat down"), ("a", "b")]),
        "empty": call(""),
        "plain": call("the cat", add_special_tokens=False),
        "cut": call(long, truncation=True, max_length=8),
        "cut pair": call(long, TEXTS[0], truncation=True, max_length=12),
        "cut first": call(long, "the dog", truncation="only_first", max_length=12),
        "cut second": call("the dog", long, truncation="only_second", max_length=12),
        "overflow": call(long, truncation=True, max_length=10, stride=2, return_overflowing_tokens=True),
        "offsets": call(TEXTS[3], return_offsets_mapping=True, return_special_tokens_mask=True, return_length=True),
        "words": call(["the", "cat", "sitting"], is_split_into_words=True),
        "texts of words": call([["the", "cat"], ["dog"]], is_split_into_words=True),
        "word ids": lambda c: tok(c)("the cat sitting").word_ids(),
        "word ids of words": lambda c: tok(c)(["the", "cat", "sitting"], is_split_into_words=True).word_ids(0),
        "sequence ids": lambda c: tok(c)("the cat", "sat down").sequence_ids(0),
        "ragged": call(["the cat sat", "a"], return_tensors="np"),
        "array of one": call("the cat", return_tensors="np"),
        "without masks": call("the cat", return_attention_mask=False, return_token_type_ids=False),
        "encode": lambda c: tok(c).encode("the cat sat"),
        "encode pair": lambda c: tok(c).encode("the cat", "sat"),
        "decode": lambda c: tok(c).decode(tok(c)("The cat sat, didn't it?")["input_ids"]),
        "decode without special": lambda c: tok(c).decode(tok(c)("The cat sat on the mat.")["input_ids"], skip_special_tokens=True),
        "batch decode": lambda c: tok(c).batch_decode(tok(c)(["the cat", "a dog"])["input_ids"], skip_special_tokens=True),
        "tokenize": lambda c: tok(c).tokenize("the cat sitting"),
        "ids to tokens": lambda c: tok(c).convert_ids_to_tokens([0, 1, 2, 3, 4]),
        "id to token": lambda c: tok(c).convert_ids_to_tokens(5),
        "tokens to ids": lambda c: tok(c).convert_tokens_to_ids(["the", "nosuchtoken"]),
        "special": lambda c: sorted(tok(c).all_special_ids),
        "roles": lambda c: [getattr(tok(c), f"{role}_token") for role in ("cls", "sep", "pad", "unk", "mask", "bos", "eos")],
        "role ids": lambda c: [getattr(tok(c), f"{role}_token_id") for role in ("cls", "sep", "pad", "unk", "mask", "bos", "eos")],
        "sizes": lambda c: [len(tok(c)), len(tok(c).get_vocab())],
        "vocab_size": lambda c: tok(c).vocab_size,
        "limits": lambda c: [min(tok(c).model_max_length, 10**6), tok(c).padding_side, tok(c).truncation_side, tok(c).is_fast,
                             sorted(tok(c).model_input_names)],
        "None": call(None),
        "number": call(5),
        "nothing": call([]),
        "unknown padding": call("a", padding="foo"),
        "unknown truncation": call("a", truncation="foo"),
        "unknown tensors": call("a", return_tensors="xx"),
        **({} if name == "text_models/c_gpt2" else {
            "padded": call(TEXTS, padding=True),
            "padded arrays": call(TEXTS, padding=True, return_tensors="np"),
            "padded to 16": call(TEXTS[:2], padding="max_length", max_length=16),
            "padded by 8": call(TEXTS[:2], padding=True, pad_to_multiple_of=8),
            "padded and cut": call(TEXTS, padding="max_length", truncation=True, max_length=8, return_special_tokens_mask=True),
            "padded left": call(TEXTS[:2], padding=True, padding_side="left"),
            "pad": lambda c: dict(tok(c).pad([dict(tok(c)("the cat sat")), dict(tok(c)("a"))], return_tensors="np")),
        }),
    }


MORE_TOKENIZERS = [*TOKENIZERS, "text_models/c_xlmr", "text_models/c_albert", "text_models/c_camembert", "text_models/c_clip", "question_answering/deberta-v2",
                   "pairs/clip", "process/mpnet", "process/bytes", "process/unigram", "question_answering/distilbert", "optimum/t5", "optimum/gpt2"]


def _tokenizer_more(name: str) -> dict[str, Case]:
    """What depends on a tokenizer's class, length and pipeline: on more tokenizers."""
    def tok(c: Any, **settings: Any) -> Any:
        return c.AutoTokenizer.from_pretrained(tokenizer_path(name), **settings)

    def padded(c: Any, **settings: Any) -> Any:
        t = tok(c, **settings)
        if t.pad_token is None:
            t.pad_token = t.unk_token
        return t

    def spans(c: Any) -> Any:
        t = padded(c)
        one, pair, batch = t("the cat, didn't"), t("the cat", "sat"), t(["a", "the cat sat"], padding=True)
        chars = [getattr(pair, what)(0, 1, sequence_index=1) for what in ("char_to_token", "char_to_word", "word_to_tokens")]
        return [[one.token_to_chars(i) for i in range(3)], one.token_to_word(1), one.token_to_sequence(1), one.char_to_token(4), one.char_to_word(5),
                one.word_to_tokens(1), one.word_to_chars(1), one.word_to_tokens(77), chars, one.n_sequences, pair.n_sequences, pair.sequence_ids(),
                batch.word_to_tokens(1, 1), batch.word_to_chars(1, 1), batch.char_to_token(1, 4), batch.token_to_chars(1, 2)._fields,
                batch.sequence_ids(0)]

    def added(c: Any) -> Any:
        t = tok(c)
        return [[[i, str(one), one.lstrip, one.rstrip, one.single_word, one.normalized, one.special] for i, one in sorted(t.added_tokens_decoder.items())],
                sorted(t.get_added_vocab().items()), t.get_special_tokens_mask(t("the cat")["input_ids"], already_has_special_tokens=True)]

    def another_pad(c: Any) -> Any:
        t = tok(c)
        t.pad_token = t.unk_token
        return [t.pad_token, t.pad_token_id, t.special_tokens_map, t(["the cat sat", "a"], padding=True)["input_ids"]]

    return {
        "keys": lambda c: [list(tok(c)("the cat")), list(tok(c)("the cat", "sat", return_tensors="np")), tok(c).model_input_names],
        "special": lambda c: [tok(c).special_tokens_map, tok(c).all_special_ids, tok(c).all_special_tokens],
        "length alone": lambda c: tok(c)([TEXTS[0], TEXTS[2]], max_length=6)["input_ids"],
        "length and padding": lambda c: [len(one) for one in padded(c)(TEXTS[:3], max_length=6, padding=True)["input_ids"]],
        "to the limit": lambda c: [len(one) for one in padded(c, model_max_length=30)(TEXTS[:2], padding="max_length")["input_ids"]],
        "to no limit": lambda c: [len(one) for one in padded(c, model_max_length=10**30)(TEXTS[:2], padding="max_length")["input_ids"]],
        "pad to no limit": lambda c: padded(c, model_max_length=10**30).pad({"input_ids": [[5, 6], [7]]}, padding="max_length")["input_ids"],
        "cut to no multiple": lambda c: padded(c)("a", padding=True, truncation=True, max_length=7, pad_to_multiple_of=4),
        "padding None": lambda c: tok(c)("a", padding=None),
        "spans": spans,
        "added": added,
        "another pad token": another_pad,
        "unknown id": lambda c: [tok(c).decode([10**7]), tok(c).decode([5, 10**7]) == tok(c).decode([5])],
        "id below 0": lambda c: tok(c).decode([-1]),
        "text as words": lambda c: tok(c)("the cat", is_split_into_words=True),
        "two texts as words": lambda c: tok(c)("the cat", "sat", is_split_into_words=True)["input_ids"],
        "pair of words": lambda c: tok(c)([(["the", "cat"], ["sat"])], is_split_into_words=True)["input_ids"],
        "empty second": lambda c: tok(c)("the cat", "")["input_ids"],
        "later None": lambda c: tok(c)(["a", None]),
        "surrogate": lambda c: tok(c)("\ud800"),
        "slice": lambda c: [one.ids for one in tok(c)(["a", "the cat"])[0:1]],
        "stride of what is not cut": lambda c: tok(c)(["the cat"], stride=3, max_length=2, truncation=False)["input_ids"],
        "batch decode of one": lambda c: [tok(c).batch_decode(ids) for ids in ([5, 6], 5, [], [[5], [6]])],
        "room": lambda c: [tok(c, model_max_length=30).max_len_single_sentence, tok(c, model_max_length=30).max_len_sentences_pair],
        "pad": lambda c: [dict(padded(c).pad({"input_ids": ids}, **options)) for ids, options in (
            ([5, 6], {"padding": "max_length", "max_length": 4}), ([[5, 6], [7]], {"return_attention_mask": True}), ([], {}),
            (np.array([[5, 6]]), {"pad_to_multiple_of": 4}), ([np.array([5, 6]), np.array([7])], {}))],
        **({
            "texts again": lambda c: [tok(c).decode(tok(c)(one)["input_ids"], skip_special_tokens=plain) for one in TEXTS for plain in (False, True)],
            "pad, with no token for it": lambda c: tok(c).pad({"input_ids": [[5, 6], [7]]})["input_ids"],
        } if name in ("text_models/c_clip", "pairs/clip", "text_models/c_gpt2") else {}),
        "pad beside labels": lambda c: dict(padded(c).pad([{"input_ids": [5, 6], "labels": [1, 2], "id": 7}, {"input_ids": [5], "labels": [1], "id": 8}])),
    }


# Of a tokenizer.json: what config.json says of the model, and tokenizer_config.json of the class.
CLASSES = {"process/wordpiece": [("bert", None), ("distilbert", None), ("electra", None), ("mpnet", "BertTokenizer"), ("distilbert", "DistilBertTokenizerFast"),
                                 ("modernbert", None), ("modernbert", "BertTokenizer"), ("bert", "PreTrainedTokenizerFast"), ("bert", "NoSuchTokenizer"),
                                 ("layoutlm", None), ("nystromformer", "BertTokenizer")],
           "process/bytes": [("roberta", None), ("longformer", None), ("roberta", "PreTrainedTokenizerFast"), ("gpt2", None)],
           "process/unigram": [("xlm-roberta", None), ("camembert", None), ("deberta-v2", None), ("t5", None),
                               ("xlm-roberta", "XLMRobertaTokenizerFast")]}


def _classes() -> dict[str, Case]:
    def names(c: Any, name: str, model: str, said: str | None) -> Any:
        with tempfile.TemporaryDirectory() as made:
            shutil.copy(os.path.join(GOLDEN, name, "tokenizer.json"), made)
            for file, content in (("config.json", {"model_type": model}), ("tokenizer_config.json", {"tokenizer_class": said} if said else {})):
                with open(os.path.join(made, file), "w", encoding="utf-8") as out:
                    json.dump(content, out)
            t = c.AutoTokenizer.from_pretrained(made)
            return [t.model_input_names, list(t("the cat"))]

    return {f"{model} {said}": (lambda c, given=(name, model, said): names(c, *given)) for name, pairs in CLASSES.items() for model, said in pairs}


# ---- ORTModelFor… ----

ORT_MODELS = {"bus-ner": "TokenClassification", "pipelines/labels": "SequenceClassification", "pipelines/one": "SequenceClassification",
              "pipelines/answers": "QuestionAnswering", "pipelines/vectors": "FeatureExtraction", "pipelines/masks": "MaskedLM"}


def _ort(name: str) -> dict[str, Case]:
    def model(c: Any) -> Any:
        return getattr(c, "ORTModelFor" + ORT_MODELS[name]).from_pretrained(c.onnx_folder(name))

    ids = np.array([[2, 5, 6, 7, 3], [2, 8, 3, 0, 0]], dtype=np.int64)
    full = {"input_ids": ids, "attention_mask": (ids != 0).astype(np.int64), "token_type_ids": np.zeros_like(ids)}

    def taken(m: Any, **changes: Any) -> dict[str, Any]:
        return {key: value for key, value in {**full, **changes}.items() if key in m.input_names}

    def described(c: Any) -> Any:
        out = (lambda m: m(**taken(m)))(model(c))
        return [type(out).__name__, list(out.keys()), out[0], out[next(iter(out.keys()))].dtype.name]

    return {
        "result": described,
        "tuple": lambda c: (lambda m: m(**taken(m), return_dict=False))(model(c)),
        "int32": lambda c: (lambda m: list(m(**{k: v.astype(np.int32) for k, v in taken(m).items()}).values()))(model(c)),
        "positional": lambda c: (lambda m: list(m(*taken(m).values()).values()))(model(c)),
        "missing": lambda c: (lambda m: m(input_ids=ids))(model(c)),
        "without types": lambda c: (lambda m: list(m(input_ids=ids, attention_mask=full["attention_mask"]).values()))(model(c)),
        "no fields": lambda c: (lambda out: [getattr(out, name, "no such field") for name in
                                             ("loss", "hidden_states", "attentions", "embeddings")])((lambda m: m(**taken(m)))(model(c))),
        "attributes": lambda c: (lambda m: [m.provider, m.provider_options, m.model_type, m.input_shapes, m.output_shapes,
                                            m.input_dtypes, m.output_dtypes, m.config.num_labels, list(m.config.id2label.values())])(model(c)),
        "lists": lambda c: (lambda m: m(**{k: v.tolist() for k, v in taken(m).items()}))(model(c)),
        "names": lambda c: (lambda m: [m.input_names, m.output_names, list(m.providers)])(model(c)),
    }


# Models of sounds, pictures and choices, what else they are opened as, and what they are given: shapes of float32, or of ids.
ORT_OTHERS: dict[str, tuple[str, dict[str, tuple[int, ...]]]] = {
    "speech/wav2vec2": ("AudioClassification", {"input_values": (2, 1600)}),
    "speech/ast": ("AudioClassification", {"input_values": (1, 100, 32)}),
    "export_sound/wavlm": ("AudioClassification", {"input_values": (1, 1600)}),
    "speech/ctc": ("CTC", {"input_values": (2, 1600)}),
    "export_sound/hubert": ("CTC", {"input_values": (2, 1200)}),
    "export_sound/wav2vec2": ("AudioFrameClassification", {"input_values": (2, 1200)}),  # a number for each frame and label, too
    "export_sound/wav2vec2-voice": ("AudioXVector", {"input_values": (2, 6000)}),
    "speech/vectors": ("FeatureExtraction", {"input_values": (1, 1600)}),
    "multiple_choice/bert": ("MultipleChoice", {"input_ids": (2, 3, 6), "attention_mask": (2, 3, 6), "token_type_ids": (2, 3, 6)}),
    "pictures/vit": ("ImageClassification", {"pixel_values": (2, 3, 24, 24)}),
    "pictures/segformer": ("SemanticSegmentation", {"pixel_values": (1, 3, 32, 32)}),
    "pairs/clip": ("ZeroShotImageClassification", {"input_ids": (2, 5), "pixel_values": (1, 3, 24, 24), "attention_mask": (2, 5)}),
}


def _ort_other(name: str) -> dict[str, Case]:
    kind, shapes = ORT_OTHERS[name]

    def model(c: Any) -> Any:
        return getattr(c, "ORTModelFor" + kind).from_pretrained(c.onnx_folder(name))

    def feeds(m: Any) -> dict[str, Any]:
        rng = np.random.default_rng(9)
        made = {key: rng.integers(3, 9, shape) if "ids" in key else np.ones(shape, np.int64) if "mask" in key
                else rng.standard_normal(shape).astype(np.float32) for key, shape in shapes.items()}
        return {key: np.zeros_like(value) if key == "token_type_ids" else value for key, value in made.items() if key in m.input_names}

    def described(c: Any) -> Any:
        out = (lambda m: m(**feeds(m)))(model(c))
        return [type(out).__name__, {key: value.dtype.name for key, value in out.items()}, list(out.values())]

    return {
        "result": described,
        "tuple": lambda c: (lambda m: [getattr(one, "shape", one) for one in m(**feeds(m), return_dict=False)])(model(c)),
        "doubles": lambda c: (lambda m: list(m(**{k: v.astype(np.float64) if v.dtype.kind == "f" else v
                                                  for k, v in feeds(m).items()}).values())[0].shape)(model(c)),
        "positional": lambda c: (lambda m: list(m(*feeds(m).values()).values())[0].shape)(model(c)),
        "missing": lambda c: model(c)(),
        "lists": lambda c: (lambda m: m(**{k: v.tolist() for k, v in feeds(m).items()}))(model(c)),
        "names": lambda c: (lambda m: [m.input_names, m.output_names])(model(c)),
    }


def _ort_errors() -> dict[str, Case]:
    return {
        "no folder": lambda c: c.ORTModelForTokenClassification.from_pretrained("/no/such/folder"),
        "no file": lambda c: c.ORTModelForTokenClassification.from_pretrained(c.onnx_folder("bus-ner"), file_name="foo.onnx"),
        "provider": lambda c: c.ORTModelForTokenClassification.from_pretrained(c.onnx_folder("bus-ner"), provider="Foo"),
    }


GROUPS: dict[str, dict[str, Case]] = {
    **{f"sentence {name}": _sentence(name) for name in ("mean", "cls", "last", "weighted", "joined")},
    "quantize": _quantize(),
    "util": _util(),
    **{f"cross {name}": _cross(name) for name in ("one", "several")},
    "sparse": _sparse(),
    "sentence more": _sentence_more(),
    "sentence pooled": _sentence_pooled(),
    "cross more": _cross_more(),
    "sparse more": _sparse_more(),
}
TOKENIZER_GROUPS: dict[str, dict[str, Case]] = {**{f"tokenizer {name}": _tokenizer(name) for name in TOKENIZERS},
                                                 **{f"more of {name}": _tokenizer_more(name) for name in MORE_TOKENIZERS},
                                                 "tokenizer classes": _classes()}
ORT_GROUPS: dict[str, dict[str, Case]] = {**{f"ort {name}": _ort(name) for name in ORT_MODELS},
                                           **{f"ort {name}": _ort_other(name) for name in ORT_OTHERS}, "ort errors": _ort_errors()}


# ---- results as JSON ----

BUILTINS = (KeyError, IndexError, FileNotFoundError, AttributeError, TypeError, ValueError, RuntimeError, OSError)


def portray(value: Any) -> Any:
    """A result as JSON that has its types: arrays as bytes in base64, floats as such."""
    if type(value).__module__ == "torch":
        return {**portray(value.detach().cpu().numpy()), "torch": True}
    if isinstance(value, np.ndarray) and value.dtype != object:
        kept = value.astype(np.float32) if value.dtype == np.float64 and value.size else value
        return {"array": value.dtype.name, "shape": list(value.shape), "kept": kept.dtype.str,
                "bytes": base64.b64encode(np.ascontiguousarray(kept).tobytes()).decode()}
    if isinstance(value, np.ndarray):
        return {"objects": [portray(one) for one in value]}
    if isinstance(value, np.generic):
        return {"scalar": value.dtype.name, "value": value.item()}
    if isinstance(value, dict):
        return {"dict": [[str(key), portray(one)] for key, one in value.items()]}
    if isinstance(value, (list, tuple)):
        if isinstance(value, list) and value and all(type(one) is int for one in value):
            return value
        return {type(value).__name__ if type(value) in (list, tuple) else "list": [portray(one) for one in value]}
    return value


def answer(case: Case, classes: Any) -> Any:
    """What a case gives, or the built-in exception that it raises."""
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        try:
            return portray(case(classes))
        except Exception as error:
            return {"raises": [one.__name__ for one in BUILTINS if isinstance(error, one)] or ["Exception"], "says": str(error)[:80]}
