#!/usr/bin/env python3
"""Writes labelled bus booking queries, one JSON object {"words", "labels"} a line.

Queries come from a grammar and word lists; typing errors, odd casing and invented names are mixed in so that a
model must read the context of a name instead of learning the name by heart. The same seed gives the same queries.

    python generate.py --count 20 --seed 7
"""
import argparse
import json
import random
import re

import lexicon
from grammar import GRAMMAR

ENTITIES = ["SRC", "DEST", "BUS_TYPE", "SEAT_TYPE", "TIME", "DATE", "OPERATOR", "BOARDING_POINT", "DROPPING_POINT"]
LABELS = ["O"] + [prefix + entity for entity in ENTITIES for prefix in ("B-", "I-")]
SLOT_ENTITY = {"SRC": "SRC", "DEST": "DEST", "BUS": "BUS_TYPE", "SEAT": "SEAT_TYPE", "TIME": "TIME", "CLOCK": "TIME",
               "PART": "TIME", "DATE": "DATE", "DAY": "DATE", "OPERATOR": "OPERATOR", "OPX": "OPERATOR",
               "BP": "BOARDING_POINT", "DP": "DROPPING_POINT"}

TOKEN = re.compile(r"<(\w+)>|\(([^()]*)\)")
SLOT = re.compile(r"^(\W*)\{(\w+)\}(\W*)$")
KEYBOARD = ["qwertyuiop", "asdfghjkl", "zxcvbnm"]
VOWELS = "aeiou"
SHORTHAND = {"from": ["frm", "fm", "fro"], "to": ["2", "too", "t"], "and": ["&", "n"], "please": ["pls", "plz"],
             "need": ["nd", "ned"], "tickets": ["tix", "tkts"], "ticket": ["tkt"], "you": ["u"], "want": ["wnt"],
             "between": ["btwn", "b/w"], "for": ["4", "fr"], "at": ["@"], "next": ["nxt"],
             "morning": ["mrng", "mornin"],
             "evening": ["evng", "eve"], "night": ["nite", "nyt"], "sleeper": ["sleepr", "slpr"], "around": ["arnd"],
             "bus": ["buss"], "with": ["w/", "wid"], "boarding": ["bording"], "pickup": ["pikup"], "today": ["2day"],
             "before": ["b4"], "the": ["d"], "are": ["r"], "travels": ["travel", "trvls"],
             "tomorrow": ["tmrw", "tomrw"]}


class NameMaker:
    """Invents names with the letter statistics of a list of real ones."""

    def __init__(self, names, order=3):
        self.order = order
        self.follow = {}
        for name in names:
            text = "^" * order + name.lower() + "$"
            for i in range(order, len(text)):
                self.follow.setdefault(text[i - order:i], []).append(text[i])

    def make(self, rng):
        while True:
            text = "^" * self.order
            while text[-1] != "$" and len(text) < 16:
                text += rng.choice(self.follow[text[-self.order:]])
            name = text.strip("^$")
            if text[-1] == "$" and 3 <= len(name):
                return name.title()


class Generator:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        cities = lexicon.INDIAN_CITIES + lexicon.WORLD_CITIES
        single = [city for city in cities if " " not in city]
        # Low order invents freely, high order stays close to real names: both kinds of stranger turn up in use.
        self.makers = [NameMaker(single, order) for order in (2, 3, 3)]

    # -- names -----------------------------------------------------------------------------------------------------
    def invented(self):
        rng = self.rng
        if rng.random() < 0.06:
            return "".join(rng.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(rng.randint(3, 9)))
        return rng.choice(self.makers).make(rng)

    def invented_city(self):
        rng, name, roll = self.rng, self.invented(), self.rng.random()
        if roll < 0.06:
            return rng.choice(lexicon.PLACE_PREFIXES) + " " + name
        if roll < 0.10:
            return name + " " + rng.choice(lexicon.PLACE_SUFFIXES)
        return name

    def free_city(self):
        """A city where the words around it show where its name ends: any two words may be a name there."""
        rng, roll = self.rng, self.rng.random()
        if roll < 0.05:
            return self.invented() + " " + self.invented()
        if roll < 0.09:
            return rng.choice(lexicon.PLAIN_WORDS) + " " + rng.choice(lexicon.PLAIN_WORDS + lexicon.PLACE_SUFFIXES)
        if roll < 0.10:
            return rng.choice(lexicon.PLAIN_WORDS)
        return self.city()

    def city(self):
        rng, roll = self.rng, self.rng.random()
        if roll < 0.33:
            return rng.choice(lexicon.INDIAN_CITIES)
        if roll < 0.53:
            return rng.choice(lexicon.WORLD_CITIES)
        if roll < 0.57:
            return rng.choice(lexicon.CITY_NICKNAMES)
        return self.invented_city()

    def stop(self):
        rng, roll = self.rng, self.rng.random()
        if roll < 0.45:
            name = rng.choice(lexicon.LOCALITIES)
            return name if rng.random() < 0.85 else name + " " + rng.choice(lexicon.POINT_SUFFIXES)
        if roll < 0.65:
            return self.invented()
        if roll < 0.75:
            return self.invented() + " " + self.invented()
        if roll < 0.95:
            return self.city() + " " + rng.choice(lexicon.POINT_SUFFIXES)
        return self.city()

    def operator(self):
        rng, roll = self.rng, self.rng.random()
        if roll < 0.66:
            return rng.choice(lexicon.OPERATORS)
        if roll < 0.74:
            return self.acronym() + rng.choice(["RTC", "RTC", "STC", "TC", " Travels", " Transport", " Tours"])
        name = self.invented() if rng.random() < 0.8 else rng.choice(lexicon.INDIAN_CITIES)
        if rng.random() < 0.15:
            name = rng.choice(lexicon.OPERATOR_PREFIXES) + " " + name
        return name + " " + rng.choice(lexicon.OPERATOR_SUFFIXES[:3] * 4 + lexicon.OPERATOR_SUFFIXES)

    def named_operator(self):
        """For places where the sentence itself says that an operator follows: any name will do."""
        rng = self.rng
        if rng.random() < 0.75:
            return self.operator()
        return self.invented() if rng.random() < 0.7 else self.acronym()

    def acronym(self):
        return "".join(self.rng.choice("ABCDGHJKMNPRSTUV") for _ in range(self.rng.randint(1, 3)))

    # -- times and dates -------------------------------------------------------------------------------------------
    def clock(self):
        rng, hour = self.rng, self.rng.randint(1, 12)
        minute = rng.choice([0, 0, 15, 15, 30, 30, 30, 45, 45, rng.randrange(0, 60, 5), rng.randrange(60)])
        exact, dotted = f"{hour}:{minute:02d}", f"{hour}.{minute:02d}"
        hour24, mm = rng.randint(0, 23), f"{minute:02d}"
        half = rng.choice(["am", "pm", "am", "pm", "AM", "PM", "a.m.", "p.m."])
        part = rng.choice(["morning", "evening", "night", "afternoon"])
        spelt = rng.choice(["five", "six", "seven", "eight", "nine", "ten", "eleven"])
        then = hour % 12 + 1
        return rng.choice([
            f"{hour} {half}", f"{hour} {half}", f"{hour}{half}", f"{hour}{half}", f"{exact} {half}", f"{exact} {half}",
            f"{exact}{half}", f"{dotted} {half}", f"{dotted}{half}", exact, f"{hour24:02d}:{mm}", f"{hour24}:{mm}",
            f"{hour24:02d}{mm} hrs", f"{hour24:02d}{mm} hours", f"{hour} o'clock", f"{hour} oclock",
            f"{hour} in the {part}", f"{hour} in {part}", f"{hour} at night", f"{exact} in the {part}",
            f"{hour} {half} sharp", "noon", "midnight", "12 noon", "12 midnight", f"half past {spelt}",
            f"half past {hour}", f"quarter past {spelt}", f"quarter to {hour}", f"{spelt} {half}",
            f"{spelt} in the {part}", f"{hour} {part}", f"{hour} - {then} {half}", f"{hour}-{then} {half}"])

    def day_part(self):
        rng = self.rng
        common = ["morning", "evening", "night", "afternoon", "tonight", "early morning", "late night", "noon"]
        return rng.choice(common if rng.random() < 0.6 else lexicon.DAY_PARTS)

    def time(self):
        return self.clock() if self.rng.random() < 0.55 else self.day_part()

    def ordinal(self):
        day = self.rng.randint(1, 31)
        suffix = "th" if 11 <= day <= 13 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
        return f"{day}{suffix}"

    def calendar_date(self):
        rng, day = self.rng, self.rng.randint(1, 31)
        mm, year = rng.randint(1, 12), rng.randint(2023, 2029)
        month = rng.choice(rng.choice([lexicon.MONTHS, lexicon.MONTHS_SHORT]))
        number = rng.choice([str(day), self.ordinal(), self.ordinal()])
        weekday, sep = rng.choice(lexicon.WEEKDAYS), rng.choice("/-.")
        return rng.choice([
            f"{number} {month}", f"{number} {month}", f"{number} {month}", f"{number} {month}", f"{month} {number}",
            f"{month} {number}", f"{number} of {month}", f"{number} {month} {year}", f"{month} {number} {year}",
            f"{month} {number}, {year}", f"{number} {month}, {year}", f"{day}{month[:3]}", f"{day}-{month[:3]}",
            f"{day}-{month[:3]}-{year}", f"{day:02d}{sep}{mm:02d}{sep}{year}", f"{day}{sep}{mm}{sep}{year}",
            f"{day}{sep}{mm}{sep}{year % 100}", f"{year}-{mm:02d}-{day:02d}", f"{day}/{mm}",
            f"{weekday} {number} {month}", f"{weekday}, {number} {month}"])

    def weekday(self):
        rng = self.rng
        day = rng.choice(lexicon.WEEKDAYS if rng.random() < 0.8 else lexicon.WEEKDAYS_SHORT)
        return rng.choice(["", "", "", "next ", "next ", "this ", "coming ", "this coming ", "upcoming ", "nxt "]) + day

    def relative_date(self):
        return self.rng.choice(lexicon.RELATIVE_DATES)

    def date(self):
        kinds = [self.calendar_date, self.weekday, self.relative_date]
        return self.rng.choices(kinds + [self.ordinal], weights=[2, 2, 3, 1])[0]()

    # -- filling ---------------------------------------------------------------------------------------------------
    def money(self):
        amount, less = self.rng.randint(2, 60) * 50, self.rng.randint(5, 90)
        return self.rng.choice([f"{amount}", f"rs {amount}", f"{amount} rs", f"{amount} rupees", f"₹{amount}",
                                f"inr {amount}", f"${less}", f"{less} euros", f"{less} dollars", "1k", "2k"])

    def number(self):
        digits = [str(self.rng.randint(1, 9)), str(self.rng.randint(1, 50))]
        return self.rng.choice(digits + ["2", "3", "one", "two", "three"])

    def talk(self):
        return " ".join(self.rng.choice(lexicon.COMMON_WORDS) for _ in range(self.rng.randint(1, 6)))

    def fill(self, slot, free=False):
        city = self.free_city if free else self.city
        makers = {"SRC": city, "DEST": city, "BP": self.stop, "DP": self.stop, "OPERATOR": self.operator,
                  "OPX": self.named_operator, "TIME": self.time, "CLOCK": self.clock, "PART": self.day_part,
                  "DATE": self.date, "DAY": self.ordinal, "N": self.number, "MONEY": self.money, "TALK": self.talk}
        if slot == "BUS":
            return self.rng.choice(lexicon.BUS_TYPES)
        if slot == "SEAT":
            return self.rng.choice(lexicon.SEAT_TYPES)
        return makers[slot]()

    def expand(self, text):
        """Replaces <names> and innermost (a|b) groups until only words and slots are left."""
        while True:
            match = TOKEN.search(text)
            if not match:
                return text
            if match.group(1):
                chosen = self.rng.choice(GRAMMAR[match.group(1)])
            elif "|" in match.group(2):
                chosen = self.rng.choice(match.group(2).split("|"))
            else:
                chosen = "\0" + match.group(2) + "\1"  # a real parenthesis, put back by label()
            text = text[:match.start()] + chosen + text[match.end():]

    def label(self, text):
        """Turns an expanded template into words and their BIO labels."""
        words, labels = [], []
        template = text.replace("\0", "(").replace("\1", ")").split()
        for i, word in enumerate(template):
            match = SLOT.match(word)
            if not match:
                word = re.sub(r"\{(\w+)\}", lambda m: self.fill(m.group(1)), word)
                words.append(word)
                labels.append("O")
                continue
            before, slot, after = match.groups()
            if self.rng.random() < 0.006:
                before, after = before + '"', '"' + after
            free = not any("{" in near for near in template[max(0, i - 1):i] + template[i + 1:i + 2])
            value = (before + self.fill(slot, free) + after).split()
            entity = SLOT_ENTITY.get(slot)
            words += value
            labels += ["O"] * len(value) if not entity else ["B-" + entity] + ["I-" + entity] * (len(value) - 1)
        return words, labels

    def composed(self):
        """Puts independent phrases in any order: people do not keep to sentences in a search box."""
        rng = self.rng
        parts = ["<where>"]
        for chance, part in ((0.5, "<when>"), (0.45, "<kind>"), (0.25, "<operator>"), (0.22, "<stops>"),
                             (0.12, "<aside>"), (0.08, "<time>"), (0.08, "{TALK}")):
            if rng.random() < chance:
                parts.append(part)
        if rng.random() < 0.8:
            rng.shuffle(parts)
        glue = rng.choice([" ", " ", " ", ", ", ", ", " and ", " , ", ". ", " - ", "; "])
        text = parts[0]
        for part in parts[1:]:
            text += (glue if rng.random() < 0.6 else " ") + part
        opener = "<opener> " if rng.random() < 0.6 else ""
        return opener + text + (" <closer>" if rng.random() < 0.35 else "")

    def template(self):
        roll = self.rng.random()
        if roll < 0.02:
            return "<chatter>"
        if roll < 0.05:
            return "<short>"
        if roll < 0.45:
            return self.composed()
        before = after = ""
        if self.rng.random() < 0.10:
            before = self.rng.choice(["<clause>(,|.| so| and|) ", "{TALK}(,|.|) "])
        if self.rng.random() < 0.16:
            after = self.rng.choice([" <closer>", ", <clause>", " <clause>", " {TALK}"])
        return before + "<sentence>" + after

    # -- noise -----------------------------------------------------------------------------------------------------
    def typo(self, word):
        rng, i = self.rng, self.rng.randrange(1, len(word) - 1)
        kind = rng.randrange(5)
        if kind == 0:
            return word[:i] + word[i + 1:]
        if kind == 1:
            return word[:i] + word[i] + word[i:]
        if kind == 2:
            return word[:i] + word[i + 1] + word[i] + word[i + 2:]
        if kind == 3 and word[i] in VOWELS:
            return word[:i] + rng.choice(VOWELS) + word[i + 1:]
        row = next((row for row in KEYBOARD if word[i].lower() in row), "aeiou")
        return word[:i] + rng.choice(row) + word[i + 1:]

    def misspell(self, words):
        rng = self.rng
        rate = rng.choice([0, 0, 0, 0.02, 0.05, 0.12, 0.25])
        for i, word in enumerate(words):
            if rng.random() < rate / 2 and word.lower() in SHORTHAND:
                words[i] = rng.choice(SHORTHAND[word.lower()])
            elif len(word) >= 5 and word.isalpha() and rng.random() < rate:
                words[i] = self.typo(word)

    def recase(self, words):
        style = self.rng.choice(["keep", "keep", "lower", "lower", "upper", "title", "first", "mixed"])
        for i, word in enumerate(words):
            if style in ("lower", "upper", "title"):
                words[i] = getattr(word, style)()
            elif style == "mixed":
                words[i] = self.rng.choice([word.lower(), word.upper(), word.title()])
        if style == "first":
            words[0] = words[0][0].upper() + words[0][1:]

    def punctuate(self, words, labels):
        rng = self.rng
        words[-1] += rng.choice(["", "", "", "", "?", "?", ".", "!", "..", "??"])
        if rng.random() < 0.03:
            # Symbols and foreign words, most of them unknown tokens, but never inside an entity.
            at = rng.choice([i for i, label in enumerate(labels) if not label.startswith("I-")] + [len(words)])
            words.insert(at, rng.choice(lexicon.ODDITIES))
            labels.insert(at, "O")

    def query(self):
        words, labels = self.label(self.expand(self.template()))
        self.misspell(words)
        self.recase(words)
        self.punctuate(words, labels)
        return {"words": words, "labels": labels}


def main():
    parser = argparse.ArgumentParser(description="Write labelled bus booking queries, one JSON object a line.")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    generator = Generator(options.seed)
    for _ in range(options.count):
        print(json.dumps(generator.query(), ensure_ascii=False))


if __name__ == "__main__":
    main()
