#!/usr/bin/env python3
"""Scores the exported model on the held-out queries: entity F1, exact span and type.

Four sets are scored: the queries as written, lower-cased copies, copies whose origin and destination are replaced
by cities the generator does not know, and copies whose operators and stops are strangers as well. Needs only
onnxruntime, tokenizers and numpy, and what `encoderfile export` made of this folder (./dev demo does it).

    python evaluate.py [--model ../../build/bus-ner] [--errors]
"""
import argparse
import json
import random
from pathlib import Path

import numpy
import onnxruntime
from tokenizers import Tokenizer

import lexicon

HERE = Path(__file__).resolve().parent
SAMPLES = ["AC sleeper bus from Bangalore to Mumbai tomorrow", "VRL Non-AC from Chennai to Hyderabad next Friday"]

# Real cities that are in none of the generator's lists.
STRANGE_CITIES = """
Jhansi, Latur, Hassan, Tezpur, Karaikudi, Ratlam, Bhagalpur, Ambajogai, Arrah, Baddi, Barnala, Bhadravathi, Bhiwadi,
Chalisgaon, Deoria, Dhubri, Faridkot, Gangapur City, Harihar, Jagtial, Kapurthala, Khopoli, Kolar, Lonar, Madhepura,
Mangaldai, Nagda, Obra, Palani, Phagwara, Rajpura, Ranebennur, Samastipur, Sangamner, Sangrur, Tarn Taran, Tindivanam,
Udgir, Vaniyambadi, Wani, Port Blair, Zagreb, Porto, Vigo, Murcia, Gijon, Trieste, Perugia, Rimini, Gaziantep, Konya,
Bonn, Kiel, Ulm, Rostock, Trier, Tours, Rouen, Caen, Avignon, Derby, Hull, Swansea, Sligo, Tulsa, Wichita, Akron,
Savannah, Mobile, Little Rock, El Monte, Fort Worth, Regina, Saskatoon, Sudbury, Veracruz, Leon, Salta, Tacna, Iquique,
Cape Town, Nakuru, Eldoret, Jos, Kaduna, Agadir, Aswan, Tabuk, Salalah, Aqaba, Faisalabad, Quetta, Nepalgunj, Barisal,
Trincomalee, Surat Thani, Kota Kinabalu, Medan, Iloilo, Can Tho, Qingdao, Harbin, Tainan, Gwangju, Kobe, Matsuyama
"""


STRANGE_OPERATORS = """
Bluebird Coaches, Sangam Travels, Westway Lines, Kunnel Travels, Tarang, Mettur Transport, Hikal Tours, Rapido Roadways,
Vaibhav Travels, Nordliner, Tristar Travels, Pinnacle Bus, DLRTC, Gokul Tours and Travels, Busways, Transcor,
Moonlight Express
"""
STRANGE_STOPS = """
Thoraipakkam, Ghodbunder Road, Old Market, Sanjay Nagar, Kelambakkam, Charni Road, Waterloo, Puzhal, Nandi Cross,
Sadar Bazar, Hafeezpet, Tollygunge, Shyambazar, Bus Bay 6, Clock Tower, Naka Hindola, Ring Mall,
Erragadda, Bopodi, Mankhurd
"""


class Tagger:
    def __init__(self, folder):
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.labels = {int(i): label for i, label in json.loads((folder / "id2label.json").read_text()).items()}
        self.session = onnxruntime.InferenceSession(str(folder / "model.onnx"), providers=["CPUExecutionProvider"])

    def tag(self, words):
        """The label of each word: that of its first sub-token."""
        encoding = self.tokenizer.encode(words, is_pretokenized=True)
        ids = numpy.array([encoding.ids], dtype=numpy.int64)
        feed = {"input_ids": ids, "attention_mask": numpy.ones_like(ids), "token_type_ids": numpy.zeros_like(ids)}
        best = self.session.run(["logits"], feed)[0][0].argmax(-1)
        labels = ["O"] * len(words)
        for i in reversed(range(len(ids[0]))):
            if encoding.word_ids[i] is not None:
                labels[encoding.word_ids[i]] = self.labels[int(best[i])]
        return labels


def spans(labels):
    """Entities as (type, first word, word after the last): B- opens, I- of the same type continues."""
    found, kind = [], None
    for i, label in enumerate(labels):
        if label.startswith("B-"):
            kind = label[2:]
            found.append([kind, i, i + 1])
        elif kind and label == "I-" + kind:
            found[-1][2] = i + 1
        else:
            kind = None
    return {tuple(span) for span in found}


def lowered(row, _):
    return {"words": [word.lower() for word in row["words"]], "labels": row["labels"]}


def names(text):
    return [" ".join(name.split()) for name in text.split(",")]


def replaced(row, rng, strangers):
    """The same query with other names. Punctuation behind the old name moves to the new one."""
    words, labels, at = [], [], 0
    entities = {first: (kind, end) for kind, first, end in spans(row["labels"]) if kind in strangers}
    while at < len(row["words"]):
        if at not in entities:
            words.append(row["words"][at])
            labels.append(row["labels"][at])
            at += 1
            continue
        kind, at = entities[at]
        last = row["words"][at - 1]
        name = rng.choice(names(strangers[kind])).split()
        name[-1] += last[len(last.rstrip(",.?!;:")):]
        words += name
        labels += ["B-" + kind] + ["I-" + kind] * (len(name) - 1)
    return {"words": words, "labels": labels}


def cities_swapped(row, rng):
    return replaced(row, rng, {"SRC": STRANGE_CITIES, "DEST": STRANGE_CITIES})


def names_swapped(row, rng):
    return replaced(row, rng, {"SRC": STRANGE_CITIES, "DEST": STRANGE_CITIES, "OPERATOR": STRANGE_OPERATORS,
                               "BOARDING_POINT": STRANGE_STOPS, "DROPPING_POINT": STRANGE_STOPS})


def score(tagger, rows, show_errors):
    right = found = wanted = 0
    for row in rows:
        labels = tagger.tag(row["words"])
        got, gold = spans(labels), spans(row["labels"])
        right, found, wanted = right + len(got & gold), found + len(got), wanted + len(gold)
        if show_errors and got != gold:
            print("  " + " ".join(row["words"]))
            for mark, extra in (("missed", gold - got), ("wrong", got - gold)):
                for kind, first, end in sorted(extra, key=lambda span: span[1]):
                    print(f"    {mark} {kind}: {' '.join(row['words'][first:end])}")
    precision, recall = right / max(1, found), right / max(1, wanted)
    return precision, recall, 2 * right / max(1, found + wanted)


def check_disjoint():
    known = {name.lower() for name in lexicon.INDIAN_CITIES + lexicon.WORLD_CITIES + lexicon.CITY_NICKNAMES
             + lexicon.LOCALITIES + lexicon.OPERATORS}
    strange = names(STRANGE_CITIES) + names(STRANGE_OPERATORS) + names(STRANGE_STOPS)
    both = [name for name in strange if name.lower() in known]
    if both:
        raise SystemExit("names of the swap lists that the generator knows: " + ", ".join(both))


def main():
    parser = argparse.ArgumentParser(description="Score the exported model on the held-out queries.")
    parser.add_argument("--model", type=Path, default=HERE / "../../build/bus-ner")
    parser.add_argument("--errors", action="store_true", help="print each query that is not fully right")
    options = parser.parse_args()
    check_disjoint()
    tagger = Tagger(options.model)
    rows = [json.loads(line) for line in (HERE / "heldout.jsonl").read_text().splitlines()]
    rng = random.Random(60)
    # One draw of names says little, so the swapped sets hold every query with twenty different draws.
    for name, change, rounds in (("as written", lambda row, _: row, 1), ("lower case", lowered, 1),
                                 ("cities swapped", cities_swapped, 20), ("names swapped", names_swapped, 20)):
        changed = [change(row, rng) for _ in range(rounds) for row in rows]
        precision, recall, f1 = score(tagger, changed, options.errors)
        print(f"{name:15} precision {precision:.4f}  recall {recall:.4f}  F1 {f1:.4f}")
    for sample in SAMPLES:
        words = sample.split()
        tagged = [f"{label} {word}" for word, label in zip(words, tagger.tag(words)) if label != "O"]
        print(sample + "\n  " + ", ".join(tagged))


if __name__ == "__main__":
    main()
