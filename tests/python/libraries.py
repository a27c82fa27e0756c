# SPDX-License-Identifier: Apache-2.0
"""libraries.py - LangChain, LlamaIndex, Haystack, BERTopic, KeyBERT, MTEB and scikit-learn on top of this package, with their code unchanged:
encoderfile_c.compat.sentence_transformers stands in for sentence_transformers. One that is not installed is skipped. PYTHONPATH=python."""
import importlib.util
import os
import pathlib
import sys
import unittest

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "false")

import encoderfile_c.compat.sentence_transformers as compat  # noqa: E402

compat.install()
from sentence_transformers import SentenceTransformer  # noqa: E402

import numpy as np  # noqa: E402

MODEL, RERANKER = "tests/golden/sentence/mean", "tests/golden/pipelines/one"
TEXTS = ["Ada Lovelace was born in London", "The river Thames flows through the city.", "Engines repeat what we have taught them!", "A bus to Goa on Sunday"]


def wants(*modules):
    def found(name):
        try:
            return importlib.util.find_spec(name) is not None
        except ModuleNotFoundError:
            return False

    missing = [name for name in modules if not found(name)]
    return unittest.skipIf(missing, f"{', '.join(missing)} not installed")


class Libraries(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = SentenceTransformer(MODEL)
        cls.vectors = cls.model.encode(TEXTS)

    def near(self, found, wanted=None):
        np.testing.assert_allclose(np.asarray(found, dtype=np.float32), self.vectors if wanted is None else wanted, atol=1e-5)

    @wants("langchain_huggingface")
    def test_langchain(self):
        from langchain_huggingface import HuggingFaceEmbeddings

        embeddings = HuggingFaceEmbeddings(model_name=MODEL, encode_kwargs={"normalize_embeddings": False})
        self.near(embeddings.embed_documents(TEXTS))
        self.near(embeddings.embed_query(TEXTS[0]), self.vectors[0])

    @wants("langchain_huggingface", "langchain_core")
    def test_langchain_search(self):
        from langchain_core.vectorstores import InMemoryVectorStore
        from langchain_huggingface import HuggingFaceEmbeddings

        store = InMemoryVectorStore.from_texts(TEXTS, HuggingFaceEmbeddings(model_name=MODEL))
        self.assertEqual(store.similarity_search(TEXTS[3], k=1)[0].page_content, TEXTS[3])

    @wants("llama_index.embeddings.huggingface")
    def test_llama_index(self):
        from llama_index.embeddings.huggingface import HuggingFaceEmbedding

        embedding = HuggingFaceEmbedding(model_name=MODEL, device="cpu", normalize=False)
        self.near(embedding.get_text_embedding_batch(TEXTS))
        self.near(embedding.get_text_embedding(TEXTS[1]), self.vectors[1])

    @wants("haystack", "haystack_integrations.components.embedders.sentence_transformers")
    def test_haystack(self):
        from haystack import Document
        from haystack_integrations.components.embedders.sentence_transformers import (
            SentenceTransformersDocumentEmbedder, SentenceTransformersTextEmbedder,
        )

        texts = SentenceTransformersTextEmbedder(model=MODEL, progress_bar=False)
        texts.warm_up()
        self.near(texts.run(TEXTS[0])["embedding"], self.vectors[0])
        documents = SentenceTransformersDocumentEmbedder(model=MODEL, progress_bar=False)
        documents.warm_up()
        self.near([one.embedding for one in documents.run([Document(content=text) for text in TEXTS])["documents"]])

    @wants("keybert")
    def test_keybert(self):
        from keybert import KeyBERT

        found = KeyBERT(model=self.model).extract_keywords(" ".join(TEXTS), top_n=3)
        self.assertEqual(len(found), 3)
        self.assertTrue(all(isinstance(word, str) and -1 <= score <= 1 for word, score in found))

    @wants("bertopic", "sklearn")
    def test_bertopic(self):
        from bertopic import BERTopic
        from bertopic.dimensionality import BaseDimensionalityReduction
        from sklearn.cluster import KMeans

        topics = BERTopic(embedding_model=self.model, umap_model=BaseDimensionalityReduction(), hdbscan_model=KMeans(2, random_state=0))
        found, _ = topics.fit_transform(TEXTS * 5)
        self.assertEqual(len(found), 20)
        self.assertEqual(found[:4], found[4:8])

    @wants("sklearn")
    def test_scikit_learn(self):
        from sklearn.linear_model import LogisticRegression
        from sklearn.metrics.pairwise import cosine_similarity
        from sklearn.neighbors import NearestNeighbors

        labels = [0, 1, 1, 0]
        self.assertEqual(LogisticRegression(C=1e6, max_iter=2000).fit(self.vectors, labels).predict(self.vectors).tolist(), labels)
        np.testing.assert_allclose(cosine_similarity(self.vectors), np.asarray(self.model.similarity(self.vectors, self.vectors)), atol=1e-5)
        nearest = NearestNeighbors(n_neighbors=1).fit(self.vectors).kneighbors(self.vectors)[1].reshape(-1)
        self.assertEqual(nearest.tolist(), [0, 1, 2, 3])

    @wants("mteb", "datasets")
    def test_mteb(self):
        import mteb
        from datasets import Dataset, DatasetDict
        from mteb.abstasks import AbsTaskSTS
        from mteb.abstasks.task_metadata import TaskMetadata

        class Tiny(AbsTaskSTS):
            metadata = TaskMetadata(name="Tiny", dataset={"path": "none", "revision": "1"}, description="", reference=None, type="STS",
                                    category="t2t", modalities=["text"], eval_splits=["test"], eval_langs=["eng-Latn"], main_score="cosine_spearman")
            min_score, max_score = 0, 5

            def load_data(self, **_):
                pairs = [(a, b) for a in TEXTS for b in TEXTS]
                scores = [float(np.dot(x, y) / np.linalg.norm(x) / np.linalg.norm(y)) for x in Libraries.vectors for y in Libraries.vectors]
                rows = {"sentence1": [a for a, _ in pairs], "sentence2": [b for _, b in pairs], "score": scores}
                self.dataset = DatasetDict({"test": Dataset.from_dict(rows)})
                self.data_loaded = True

        found = mteb.evaluate(self.model, [Tiny()], cache=None)
        self.assertGreater(found.task_results[0].get_score(), 0.99)

    @wants("langchain_community")
    def test_langchain_reranker(self):
        from langchain_community.cross_encoders import HuggingFaceCrossEncoder

        self.assertEqual(len(HuggingFaceCrossEncoder(model_name=RERANKER).score([(TEXTS[0], text) for text in TEXTS])), 4)

    @wants("sklearn")
    def test_pipelines_in_scikit_learn(self):
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import FunctionTransformer
        from sklearn.svm import LinearSVC

        fitted = make_pipeline(FunctionTransformer(lambda texts: self.model.encode(list(texts))), LinearSVC()).fit(TEXTS, [0, 1, 1, 0])
        self.assertEqual(len(fitted.predict(TEXTS)), 4)


if __name__ == "__main__":
    here = pathlib.Path(__file__).parent
    sys.path.insert(0, str(here))
    sys.argv = [sys.argv[0], "libraries"]
    exec((here / "run.py").read_text(), {"__file__": str(here / "run.py"), "__name__": "__main__"})
