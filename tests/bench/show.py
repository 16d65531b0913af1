# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""show: results as lines on the terminal, as JSON and as a chart."""
import json
import os
import shutil
import statistics
import subprocess

import cell as cell_module
from cell import Bar

NAMES = {"tcp": "TCP", "smc": "SMC", "unix": "AF_UNIX", "ring": "bare ring",
         "few": "SMC few", "disabled": "disabled", "rdma": "ofed_core",
         "lossy": "1 % lost", "rxe": "rdma_rxe", "learns": "SMC",
         "kernel": "AF_SMC", "to_kernel": "ours to AF_SMC",
         "from_kernel": "AF_SMC to ours"}


def figure(value):
    if value is None:
        return "-"
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.3g}"


def factor(value, better):
    """A ratio in the way people say it: 1/20 of the time, 3x the rate."""
    if value is None:
        return "-"
    if better == "lower" and 0 < value < 0.5:
        return f"1/{figure(1 / value).removesuffix('.0')}"
    return f"{value:.2f}x" if value < 10 else f"{figure(value)}x"


def bar_factor(value, better):
    """A factor of a bar, which is a round number."""
    if better == "lower" and 0 < value < 0.34:
        return f"1/{1 / value:.3g}"
    return f"{value:g}x"


def bar_words(bar, better):
    """(what is judged, must, moonshot) as text."""
    sign = "<=" if better == "lower" else ">="
    if bar.worst:
        return "worst/median", f"{sign} {bar.must:g}x", ""
    if bar.over is None:
        show = figure
    else:
        def show(v):
            return bar_factor(v, better)
    over = f"/ {NAMES.get(bar.over, bar.over)}" if bar.over else "itself"
    over += " cpu" if bar.cpu else " 95%" if bar.sure else ""
    must = f"{sign} {show(bar.must)}" if bar.must is not None else ""
    moon = show(bar.moonshot) if bar.moonshot is not None else ""
    return over, must, moon


def lines_of(result):
    """The table's lines for one cell: one for each bar, at least one."""
    cell = result.cell
    medians = "  ".join(f"{NAMES.get(n, n)} {figure(result.median(n))}"
                        for n in result.names)
    first = True
    for bar in result.bars:
        seen = result.measure(bar)
        value = statistics.median(seen) if seen else None
        plain = bar.worst or bar.over is not None
        better = "higher" if bar.worst else bar.better(cell)
        told = factor(value, better) if plain else figure(value)
        spread = ""
        if len(seen) > 1:
            show = (lambda v: factor(v, bar.better(cell))) if plain else figure
            ends = cell_module.interval(seen) if bar.sure else \
                (min(seen), max(seen))
            spread = f"[{show(ends[0])} .. {show(ends[1])}]"
        over, must, moon = bar_words(bar, bar.better(cell))
        verdict = result.verdict(bar)
        if result.noisy and verdict:
            verdict += f" ~{result.noisy}"
        yield (cell.title if first else "", over, told, spread, must, moon,
               verdict, f"{medians} {cell.unit}" if first else "")
        first = False


HEAD = ("", "ours", "ratio", "[least .. most]", "must", "moonshot", "verdict",
        "medians")
WIDTH = (47, 12, 8, 20, 10, 9, 12, 0)


def row(words):
    return " ".join(w.ljust(n) for w, n in zip(words, WIDTH)).rstrip()


def print_section(results):
    print("\n" + row((results[0].cell.section,) + HEAD[1:]))
    for result in results:
        for words in lines_of(result):
            print(row(words))
        for error in sorted(set(result.errors)):
            print(f"    failed: {error}")
        if result.fell_back:
            print(f"    {result.fell_back} rounds were not on SMC; they are "
                  "not counted as SMC")


def as_data(result):
    cell = result.cell
    bars = []
    for bar in result.bars:
        seen = result.measure(bar)
        over, must, moon = bar_words(bar, bar.better(cell))
        bars.append({
            "over": bar.over, "cpu": bar.cpu, "sure": bar.sure, "worst": bar.worst, "must": bar.must,
            "moonshot": bar.moonshot, "words": [over, must, moon],
            "values": seen,
            "median": statistics.median(seen) if seen else None,
            "verdict": result.verdict(bar)})
    columns = {}
    for name in result.names:
        v = result.values(name)
        columns[name] = {"rounds": result.rounds[name],
                         "median": result.median(name),
                         "min": min(v, default=None),
                         "max": max(v, default=None)}
    return {"section": cell.section, "key": cell.key, "title": cell.title,
            "unit": cell.unit, "better": cell.better, "columns": columns,
            "bars": bars, "fell_back": result.fell_back,
            "noisy": result.noisy, "errors": result.errors}


def write_json(path, machine, options, results):
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"machine": machine, "options": options,
                   "cells": [as_data(r) for r in results]}, f, indent=1)
        f.write("\n")


PLOT = """set terminal svg size 1000,{height} font "sans,12" background "white"
set output "{out}.svg"
set title "{title}"
set logscale x
set xlabel "{xlabel}"
set yrange [{top}:-0.6]
set ytics ({tics})
set grid x ytics lc rgb "#dddddd"
set key outside bottom center horizontal
set lmargin 46
plot "{out}.dat" using 2:1:3:4 with xerrorbars lw 2 pt 7 ps 0.9 \\
	lc rgb "#1f5fa8" title "measured (median, least, most)", \\
	"" using 5:1 with points pt 2 ps 1.1 lw 2 lc rgb "#c02020" \\
	title "must", \\
	"" using 6:1 with points pt 12 ps 1.3 lw 2 lc rgb "#2a8a2a" \\
	title "moonshot"
"""


def gain(value, better):
    """Ratio turned so that more is better."""
    if not value:
        return None
    return 1 / value if better == "lower" else value


def chart_rows(results, over):
    """(title, gain, least, most, must, moonshot) for each chartable cell."""
    for r in results:
        if r.fell_back:
            continue
        better = r.cell.better
        seen = [gain(v, better) for v in r.ratios(r.ours, over) if v]
        if not seen:
            continue
        bar = next((b for b in r.cell.bars if b.over == over and
                    not b.worst and not b.cpu), Bar(over, None))
        yield (r.cell.title, statistics.median(seen), min(seen), max(seen),
               gain(bar.must, better), gain(bar.moonshot, better))


def draw(out, results, over, title):
    """Chart of all ratios; quietly nothing where there is no gnuplot."""
    rows = list(chart_rows(results, over))
    if not rows or not shutil.which("gnuplot"):
        return None
    with open(f"{out}.dat", "w", encoding="utf-8") as f:
        for i, r in enumerate(rows):
            f.write(f"{i} " + " ".join("?" if v is None else f"{v:.5g}"
                                       for v in r[1:]) + "\n")
    tics = ", ".join('"{}" {}'.format(r[0].replace('"', "'"), i)
                     for i, r in enumerate(rows))
    with open(f"{out}.gp", "w", encoding="utf-8") as f:
        f.write('set datafile missing "?"\n')
        f.write(PLOT.format(height=120 + 18 * len(rows), out=out, tics=tics,
                            top=len(rows) - 0.4, title=title,
                            xlabel="times better (logarithmic)"))
    done = subprocess.run(["gnuplot", f"{out}.gp"], capture_output=True,
                          text=True)
    if done.returncode:
        print(f"gnuplot: {done.stderr.strip()[-300:]}")
        return None
    return os.path.abspath(f"{out}.svg")
