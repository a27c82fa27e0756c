# SPDX-License-Identifier: Apache-2.0
"""report.py [--tables] RESULTS.jsonl... - the tables of what peers.py measured, and the promises: kept or not.

A ratio is the best peer's time over ours within one block; the figure is the median over the blocks. Above 1: we are
faster. Milliseconds are the best of all blocks. "Arithmetic allows": the ratio of somebody who did nothing but
multiply, at the peak rate of the core. Fails when a promise with figures is broken; one without is named. --tables: no
promises, and the part of the peak for every shape.
"""
import json
import statistics
import sys

GROUPS = {"fp32": ["torch fp32", "ort fp32", "openvino fp32"], "int8": ["ort int8", "ort int8 published"],
          "bf16": ["torch bf16", "openvino default"]}
FAMILIES = ["distilbert", "roberta", "mpnet", "albert", "modernbert", "deberta-v3"]
FILES = ["script17", "dynamo18", "ours"]
SLOTS = {"ours fp32": "f32", "ours int8": "i8", "ours bf16": "bf16", "ours fp32 avx2": "f32", "ours int8 avx2": "i8"}
BOTH = ["minilm", "bert-base"]


def promises():
    """(what, models, case, threads, isa, ours, peers, least ratio)"""
    for case, least in (("1x16", 1.15), ("1x128", 1.05), ("8x32", 1.05), ("1x512", 1.05), ("mixed", 1.25)):
        yield f"fp32 {case}, best peer", BOTH, case, 1, "avx2", "ours fp32", GROUPS["fp32"], least
    yield "fp32 mixed, padded ORT", BOTH, "mixed", 1, "avx2", "ours fp32", ["ort fp32, padded"], 2.4
    for case, least in (("1x16", 1.25), ("1x128", 1.25), ("8x32", 1.25), ("mixed", 1.35)):
        yield f"int8 {case}, best ORT int8", BOTH, case, 1, "avx2", "ours int8", GROUPS["int8"], least
    yield "two threads fp32 1x128, ORT", BOTH, "1x128", 2, "avx2", "ours fp32", ["ort fp32"], 1.0
    for family in FAMILIES:
        for case, least in (("1x128", 1.0), ("mixed", 1.2)):
            yield (f"fp32 {case}, ORT", [f"{family}:{f}" for f in FILES], case, 1, "native", "ours fp32",
                   ["ort fp32"], least)


def figures(row, names):
    """Labels of these engines, whatever way they were fed."""
    return [k for k in row["blocks"][0] if k in names or k.split(",")[0] in names]


def ratio(row, ours, names):
    """None: one of them was not measured."""
    peers = figures(row, names)
    if not peers or ours not in row["blocks"][0]:
        return None
    return statistics.median(min(b[p] for p in peers) / b[ours] for b in row["blocks"])


def best(row, names):
    found = [(min(b[k] for b in row["blocks"]), k) for k in figures(row, names)]
    return min(found) if found else None


def peak_of(row, ours):
    """The label of the peak that this engine of ours works against; None: this CPU's is not known."""
    only = "avx2" in (row["isa"], ours.split()[-1])
    isas = ["avx2"] if only else ["amx", "avx512bf16", "avx512vnni", "avx512", "avx2"]
    return next((p for p in (f"peak {i} gemm_{SLOTS[ours]}" for i in isas) if p in row["blocks"][0]), None)


def allowed(row, ours, names):
    """The ratio at which we would do nothing but multiply, at the peak rate of one core."""
    peers, peak = figures(row, names), peak_of(row, ours)
    if not peers or not peak or not row["flops"] or row["threads"] > 1:
        return ""
    most = statistics.median(min(b[p] for p in peers) * b[peak] * 1e6 / row["flops"] for b in row["blocks"])
    return f"; arithmetic allows {most:.2f}"


def part_of_peak(row, ours, peak):
    if ours not in row["blocks"][0]:
        return None
    return statistics.median(row["flops"] / b[ours] / 1e6 / b[peak] for b in row["blocks"])


def cell(row, names, short=False):
    found = best(row, names)
    if not found:
        return ""
    way = found[1].split(", ")[1:]
    return f"{found[0]:.2f}" + (f" ({way[0]})" if way and not short else "")


def conditions(rows):
    loads, steals = [r["load"] for r in rows], [r["steal"] for r in rows]
    date = max(r.get("date", "") for r in rows)
    return (f"{date + ': ' if date else ''}{rows[0]['cpu']}, {rows[0]['isa']}, {rows[0]['threads']} thread(s), load {min(loads)} to {max(loads)}, "
            f"steal {min(steals)} to {max(steals)} %, "
            + ", ".join(f"{k} {v}" for k, v in rows[0]["versions"].items()))


def table(rows):
    columns = ["ours fp32", "torch fp32", "ort fp32", "openvino fp32", "ours int8", "ort int8", "ours bf16",
               "torch bf16", "openvino default", "ours fp32 avx2", "ours int8 avx2"]
    names = {"ort int8": GROUPS["int8"]}
    columns = [c for c in columns if any(figures(r, names.get(c, [c])) for r in rows)]
    print("| model, work | " + " | ".join(columns) + " | ratios fp32, int8, bf16 |")
    print("|---" * (len(columns) + 2) + "|")
    for r in rows:
        ratios = [ratio(r, "ours " + g, names_) for g, names_ in GROUPS.items()]
        print(f"| {r['model']} {r['case']} | " + " | ".join(cell(r, names.get(c, [c])) for c in columns)
              + " | " + ", ".join("" if x is None else f"{x:.2f}" for x in ratios) + " |")


def peak_table(rows):
    print("\n| model, work | ours | GFLOP/s | peak of one core | part |\n|---|---|---|---|---|")
    for r in rows:
        for ours in SLOTS:
            peak = peak_of(r, ours)
            if ours in r["blocks"][0] and peak:
                rate, most = r["flops"] / best(r, [ours])[0] / 1e6, max(b[peak] for b in r["blocks"])
                print(f"| {r['model']} {r['case']} ({r['isa']}) | {ours} | {rate:.1f} | {peak[5:]} {most:.1f} | "
                      f"{100 * part_of_peak(r, ours, peak):.0f} % |")


def family_table(rows):
    print("\n" + conditions([r for r in rows if ":" in r["model"]]))
    print("\n| ORT ms / ours = ratio | " + " | ".join(f"{c}, {f}" for c in ("1x128", "mixed") for f in FILES) + " |")
    print("|---" * 7 + "|")
    for family in FAMILIES:
        cells = []
        for case in ("1x128", "mixed"):
            for file in FILES:
                r = next((r for r in rows if r["model"] == f"{family}:{file}" and r["case"] == case), None)
                cells.append(f"{best(r, ['ort fp32'])[0]:.1f} / {best(r, ['ours fp32'])[0]:.1f} = "
                             f"{ratio(r, 'ours fp32', ['ort fp32']):.2f}" if r else "")
        if any(cells):
            print(f"| {family} | " + " | ".join(cells) + " |")


def judge(rows):
    failed = 0
    checks = [(what, m, case, threads, isa, lambda r, o=ours, n=names: (ratio(r, o, n), allowed(r, o, n)), least)
              for what, every, case, threads, isa, ours, names, least in promises() for m in every]
    for ours, least in (("ours fp32", 0.8), ("ours int8", 0.6)):
        checks += [(f"{ours} 8x32, part of peak", m, "8x32", 1, "avx2",
                    lambda r, o=ours: (part_of_peak(r, o, peak_of(r, o)), ""), least) for m in BOTH]
    found_by = {(r["model"], r["case"], r["threads"], r["isa"]): r for r in rows}
    for what, *key, figure, least in checks:
        row, model = found_by.get(tuple(key)), key[0]
        found, remark = figure(row) if row else (None, "")
        verdict = "not measured" if found is None else "ok" if found >= least else "BROKEN"
        failed += verdict == "BROKEN"
        print(f"{verdict:12s} {model} {what}: " + ("" if found is None else f"{found:.2f}, ")
              + f"promised {least}{remark}")
    return failed


def main():
    rows = {}
    only_tables = "--tables" in sys.argv
    for path in [a for a in sys.argv[1:] if a != "--tables"]:
        for line in open(path):
            r = json.loads(line)
            rows[r["model"], r["case"], r["threads"], r["isa"]] = r  # the last one counts
    rows = list(rows.values())
    for isa, threads in sorted({(r["isa"], r["threads"]) for r in rows}):
        part = [r for r in rows if (r["isa"], r["threads"]) == (isa, threads) and ":" not in r["model"]]
        if part:
            print(f"\n{conditions(part)}\n")
            table(part)
            judged = [r for r in part if only_tables or r["case"] == "8x32"]
            if threads == 1 and judged:
                peak_table(judged)
    if any(":" in r["model"] for r in rows):
        family_table(rows)
    print()
    sys.exit(0 if only_tables or not judge(rows) else 1)


main()
