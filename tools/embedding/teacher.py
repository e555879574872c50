"""The model that the table learns from, and how well it ranks a set of questions itself.

    teacher.py WORK cards.json queries.json...      hit@1, hit@5 and MRR of each set
"""

import json
import sys
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

THREADS = 2
TOKENS_MAX = 64
BATCH = 128


class Teacher:
    def __init__(self, sources):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = THREADS
        [model] = Path(sources).glob("**/bge-small-en-v1.5-q.onnx")
        [tokenizer] = Path(sources).glob("**/bge-small-en-v1.5-q-tokenizer.json")
        self.session = onnxruntime.InferenceSession(str(model), options)
        self.tokenizer = Tokenizer.from_file(str(tokenizer))
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()

    def encode(self, texts, tokens_max=TOKENS_MAX):
        """One row a text, of length 1. Texts of like length go together, so that little is padding."""
        ids = [each.ids for each in self.tokenizer.encode_batch(list(texts))]
        ids = [row if len(row) <= tokens_max else row[: tokens_max - 1] + row[-1:] for row in ids]
        out = np.zeros((len(ids), 384), np.float16)
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
        for start in range(0, len(order), BATCH):
            chosen = order[start : start + BATCH]
            width = max(len(ids[i]) for i in chosen)
            batch = np.zeros((len(chosen), width), np.int64)
            mask = np.zeros_like(batch)
            for row, i in enumerate(chosen):
                batch[row, : len(ids[i])] = ids[i]
                mask[row, : len(ids[i])] = 1
            feed = {"input_ids": batch, "attention_mask": mask, "token_type_ids": np.zeros_like(batch)}
            first = self.session.run(None, feed)[0][:, 0]
            out[chosen] = first / np.linalg.norm(first, axis=1, keepdims=True)
        return out


def card_text(card):
    """Name and description: what the table was measured with as well."""
    return f"{card['name']}. {card['description']}"


def ranks(cards, queries, card_vectors, query_vectors):
    """The place, from 0, of the card that each question was written for."""
    scores = query_vectors.astype(np.float32) @ card_vectors.astype(np.float32).T
    found = []
    for query, row in zip(queries, scores):
        order = [cards[i]["name"] for i in np.argsort(-row, kind="stable")]
        found.append(order.index(query["card"]))
    return np.array(found)


def figures(places):
    return (
        f"hit@1 {np.mean(places < 1):.3f}  hit@5 {np.mean(places < 5):.3f}"
        f"  MRR {np.mean(1 / (places + 1)):.3f}  of {len(places)}"
    )


def main():
    work, cards_path, *query_paths = map(Path, sys.argv[1:])
    teacher = Teacher(work / "sources")
    cards = json.loads(cards_path.read_text())
    card_vectors = teacher.encode([card_text(card) for card in cards], tokens_max=256)
    for path in query_paths:
        queries = json.loads(path.read_text())
        query_vectors = teacher.encode([query["query"] for query in queries], tokens_max=256)
        print(path.name, figures(ranks(cards, queries, card_vectors, query_vectors)))


if __name__ == "__main__":
    main()
