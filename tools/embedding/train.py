"""Trains the table of word pieces so that adding up the rows of a text points where the teacher points.

    train.py WORK table.bin [--epochs 8] [--cards cards.json --queries queries-open.json]

A question is often a wish around the matter ("I need someone to ..."): some texts are wrapped so, and must
mean what they mean bare. Rows learn their own weight: what says little becomes short.

Tried and left out, because the open questions were answered worse: pulling texts as near to one another as
the teacher has them, and pulling together texts that mean the same.
"""

import argparse
import json
import struct
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sparse
from tokenizers import Tokenizer, models

from teacher import Teacher, card_text, figures, ranks

WIDTH = 128
UNKNOWN = "[UNK]"
HELD_OUT = 0.03
WRAPPED = 0.35
WRAPPABLE = {"gloss-verb", "skill", "phrase"}
WRAPS = (
    "i need someone to", "i need someone who can", "can you", "could you please", "please", "help me",
    "help us", "we want to", "i want to", "i would like to", "who can", "which agent can", "find an agent to",
    "looking for something that can", "is there anyone who could", "an agent that can", "my job is to",
    "an assistant that helps to", "a tool to", "service that will", "how do i", "we have to",
    "our team must", "someone should", "let us", "it is time to", "i have to", "what is the best way to",
)


def tokenizer_of(teacher, pieces):
    """The teacher's, with our own words added: the longest piece that fits is taken, from the left."""
    tokenizer = Tokenizer(models.WordPiece({p: i for i, p in enumerate([*pieces, UNKNOWN])}, unk_token=UNKNOWN))
    tokenizer.normalizer = teacher.tokenizer.normalizer
    tokenizer.pre_tokenizer = teacher.tokenizer.pre_tokenizer
    return tokenizer


def unit(rows):
    return rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-9)


def counts(token_lists, rows):
    """One sparse row a text: how often it has each piece."""
    lengths = [len(tokens) for tokens in token_lists]
    columns = np.fromiter((token for tokens in token_lists for token in tokens), np.int32)
    at = np.concatenate([[0], np.cumsum(lengths)])
    return sparse.csr_matrix((np.ones(len(columns), np.float32), columns, at), (len(lengths), rows))


class Adam:
    """Moves only the rows that a batch has."""

    def __init__(self, table):
        self.table = table
        self.first = np.zeros_like(table)
        self.second = np.zeros_like(table)
        self.steps = np.zeros(len(table), np.int64)

    def move(self, rows, gradient, rate):
        self.steps[rows] += 1
        steps = self.steps[rows][:, None]
        self.first[rows] = first = 0.9 * self.first[rows] + 0.1 * gradient
        self.second[rows] = second = 0.99 * self.second[rows] + 0.01 * gradient**2
        first = first / (1 - 0.9**steps)
        second = second / (1 - 0.99**steps)
        self.table[rows] -= rate * first / (np.sqrt(second) + 1e-8)


class Course:
    def __init__(self, work, options):
        self.options = options
        self.random = np.random.default_rng(5)
        self.teacher = Teacher(work / "sources")
        self.pieces = (work / "vocabulary.txt").read_text().split("\n")[:-1]
        self.tokenizer = tokenizer_of(self.teacher, self.pieces)
        texts = [json.loads(line) for line in (work / "corpus.jsonl").open()]
        taught = np.load(work / "texts.npy").astype(np.float32)
        self.mean = taught.mean(axis=0)
        self.kinds = np.array([each["kind"] for each in texts])
        taught -= self.mean
        # The teacher also tells a question from a definition. Who asks and who answers differ in just that.
        for kind in np.unique(self.kinds):
            taught[self.kinds == kind] -= taught[self.kinds == kind].mean(axis=0)
        _, axes = np.linalg.eigh(taught.T @ taught / len(taught))
        self.axes = axes[:, ::-1][:, :WIDTH]
        spread = (taught @ self.axes).var() * WIDTH / taught.var() / 384
        print(f"{len(texts)} texts; {WIDTH} dimensions keep {spread:.3f} of the spread")
        self.taught = unit(taught)
        self.targets = unit(taught @ self.axes)
        tokens = self.tokenize([each["text"] for each in texts])
        self.texts = counts(tokens, len(self.pieces))
        self.wraps = counts(self.tokenize(WRAPS), len(self.pieces))
        self.is_wrappable = np.array([each["kind"] in WRAPPABLE for each in texts])
        start = unit(np.load(work / "pieces.npy").astype(np.float32) - self.mean) @ self.axes
        frequency = np.bincount(self.texts.indices, minlength=len(self.pieces)) + 1
        # What is in every text says little: a start that the training would find by itself, later.
        self.table = (start * (1e-3 / (1e-3 + frequency / frequency.sum()))[:, None]).astype(np.float32)
        self.split(texts)

    def tokenize(self, texts):
        """What is not known says nothing, here and in the program."""
        unknown = self.tokenizer.token_to_id(UNKNOWN)
        known = ([i for i in each.ids if i != unknown] for each in self.tokenizer.encode_batch(list(texts)))
        return [ids or [0] for ids in known]

    def split(self, texts):
        """By group, so that no text of a group that is held out was seen in other words."""
        groups = {}
        for i, each in enumerate(texts):
            groups.setdefault(each["group"] or f"alone-{i}", []).append(i)
        names = list(groups)
        self.random.shuffle(names)
        cut = int(len(names) * HELD_OUT)
        held = [i for name in names[:cut] for i in groups[name]]
        self.held = np.array(held)
        self.seen = np.array([i for name in names[cut:] for i in groups[name]])
        self.held_skills = [groups[n] for n in names[:cut] if len(groups[n]) > 1 and n.startswith("esco")]

    def wrapped(self, chosen):
        """The texts, some of them with a wish around."""
        wrap = (self.random.random(len(chosen)) < WRAPPED) & self.is_wrappable[chosen]
        [rows] = np.nonzero(wrap)
        which = self.random.integers(self.wraps.shape[0], size=len(rows))
        shape = (len(chosen), self.wraps.shape[0])
        around = sparse.csr_matrix((np.ones(len(rows), np.float32), (rows, which)), shape)
        return self.texts[chosen] + around @ self.wraps

    def vectors(self, chosen):
        return unit(self.texts[chosen] @ self.table)

    def step(self, adam, chosen, rate):
        """One step along the gradient of the mean cosine between our sums and the teacher's vectors."""
        matrix = self.wrapped(chosen)
        rows, columns = np.unique(matrix.indices, return_inverse=True)
        matrix = sparse.csr_matrix((matrix.data, columns, matrix.indptr), (len(chosen), len(rows)))
        sums = matrix @ self.table[rows]
        lengths = np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-6)
        directions = sums / lengths
        wanted = self.targets[chosen]
        along = np.sum(wanted * directions, axis=1, keepdims=True)
        gradient = (along * directions - wanted) / lengths / len(chosen)
        adam.move(rows, matrix.T @ gradient, rate)

    def train(self, cards, queries):
        options = self.options
        adam = Adam(self.table)
        per_epoch = len(self.seen) // options.batch
        total = per_epoch * options.epochs
        done = 0
        for epoch in range(options.epochs):
            started = time.time()
            order = self.random.permutation(self.seen)
            for at in range(per_epoch):
                # A cosine from the full rate to nothing.
                rate = options.rate * 0.5 * (1 + np.cos(np.pi * done / total))
                chosen = order[at * options.batch : (at + 1) * options.batch]
                self.step(adam, chosen, rate)
                done += 1
            self.report(epoch, time.time() - started, cards, queries)

    def report(self, epoch, seconds, cards, queries):
        own = self.vectors(self.held)
        cosine = np.sum(own * self.targets[self.held], axis=1).mean()
        found = self.retrieval(self.vectors)
        line = f"epoch {epoch + 1} ({seconds:.0f} s): held-out cosine {cosine:.4f}, skills {found}"
        if cards:
            line += f", open {self.evaluate(cards, queries)}"
        print(line, flush=True)

    def retrieval(self, encode):
        """Held-out skills: does a wording find its explanation?"""
        explained = [next((i for i in f if self.kinds[i] == "skill-explained"), f[-1]) for f in self.held_skills]
        asked = [next(i for i in f if i != e) for f, e in zip(self.held_skills, explained)]
        scores = encode(np.array(asked)) @ encode(np.array(explained)).T
        return f"hit@1 {np.mean(scores.argmax(axis=1) == np.arange(len(asked))):.3f} of {len(asked)}"

    def evaluate(self, cards, queries):
        side = [counts(self.tokenize(texts), len(self.pieces)) for texts in (
            [card_text(card) for card in cards], [query["query"] for query in queries])]
        card_vectors, query_vectors = [unit(each @ self.table) for each in side]
        return figures(ranks(cards, queries, card_vectors, query_vectors))

    def write(self, path):
        """Little-endian: rows, width, usual length; a scale a row; the rows as int8; the pieces as lines."""
        scale = np.abs(self.table).max(axis=1) / 127
        rows = np.round(self.table / np.maximum(scale, 1e-12)[:, None]).astype(np.int8)
        with Path(path).open("wb") as out:
            usual = np.median(np.linalg.norm(self.table, axis=1))
            out.write(struct.pack("<IIf", *rows.shape, usual))
            out.write(scale.astype("<f4").tobytes())
            out.write(rows.tobytes())
            out.write("\n".join(self.pieces).encode())
        self.table = (rows * scale[:, None]).astype(np.float32)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("work", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--rate", type=float, default=0.01)
    parser.add_argument("--cards", type=Path)
    parser.add_argument("--queries", type=Path)
    options = parser.parse_args()
    cards = json.loads(options.cards.read_text()) if options.cards else None
    queries = json.loads(options.queries.read_text()) if options.queries else None
    course = Course(options.work, options)
    print(f"the teacher itself: skills {course.retrieval(lambda i: course.taught[i])}, {len(course.pieces)} rows")
    course.train(cards, queries)
    course.write(options.out)
    course.report(-1, 0, cards, queries)


if __name__ == "__main__":
    main()
