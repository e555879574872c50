"""Lets the teacher say what every word piece and every text of the corpus means.

Writes WORK/vocabulary.txt (one piece a line), WORK/pieces.npy and WORK/texts.npy (float16, 384 wide). What
was said before is kept in WORK/said.npy and WORK/said.jsonl, and not asked again.

    encode.py WORK      WORK/sources holds the teacher, WORK/corpus.jsonl the texts
"""

import json
import sys
from collections import Counter
from pathlib import Path

import numpy as np

from teacher import Teacher

# A word that the teacher cuts into pieces gets a row of its own when the corpus has it so often: pieces of
# a name (ku ##ber ##net ##es) mean nothing when they are only added up.
OWN_ROW_COUNT_MIN = 6
OWN_ROW_LENGTH_MAX = 24
SAVED_EVERY = 20_000


def words_worth_a_row(teacher, texts):
    known = teacher.tokenizer.get_vocab()
    counts = Counter()
    for text in texts:
        normal = teacher.tokenizer.normalizer.normalize_str(text)
        counts.update(word for word, _ in teacher.tokenizer.pre_tokenizer.pre_tokenize_str(normal))
    return sorted(
        word
        for word, count in counts.items()
        if count >= OWN_ROW_COUNT_MIN
        and word.isascii()
        and word.isalpha()
        and len(word) <= OWN_ROW_LENGTH_MAX
        and word not in known
    )


class Memory:
    """What the teacher said so far."""

    def __init__(self, work, teacher):
        self.paths = work / "said.jsonl", work / "said.npy"
        self.teacher = teacher
        self.places = {}
        self.vectors = np.zeros((0, 384), np.float16)
        if self.paths[1].exists():
            self.places = {json.loads(line): i for i, line in enumerate(self.paths[0].open())}
            self.vectors = np.load(self.paths[1])

    def encode(self, texts):
        new = list(dict.fromkeys(text for text in texts if text not in self.places))
        for start in range(0, len(new), SAVED_EVERY):
            some = new[start : start + SAVED_EVERY]
            self.places.update(zip(some, range(len(self.places), len(self.places) + len(some))))
            self.vectors = np.concatenate([self.vectors, self.teacher.encode(some)])
            self.save()
            print(f"{start + len(some)} of {len(new)}", flush=True)
        return self.vectors[[self.places[text] for text in texts]]

    def save(self):
        np.save(self.paths[1], self.vectors)
        self.paths[0].write_text("".join(json.dumps(text) + "\n" for text in self.places))


def main():
    work = Path(sys.argv[1])
    teacher = Teacher(work / "sources")
    memory = Memory(work, teacher)
    texts = [json.loads(line)["text"] for line in (work / "corpus.jsonl").open()]
    known = teacher.tokenizer.get_vocab()
    # Rows for scripts that the teacher was not taught would only take room.
    own = [p for p in sorted(known, key=known.get) if p.isascii() and not p.startswith("[")]
    pieces = own + words_worth_a_row(teacher, texts)
    (work / "vocabulary.txt").write_text("".join(f"{piece}\n" for piece in pieces))
    print(f"{len(own)} pieces of the teacher, {len(pieces) - len(own)} words of our own")
    np.save(work / "pieces.npy", memory.encode([p.removeprefix("##") for p in pieces]))
    np.save(work / "texts.npy", memory.encode(texts))


if __name__ == "__main__":
    main()
