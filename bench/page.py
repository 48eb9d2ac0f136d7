"""Turns a file that compare.sh --json wrote into what docs/performance.md shows of it: the tables between that page's
two marks, and two plots beside it.

    bench/compare.sh --json compare.json && bench/page.py compare.json
"""
import argparse
import html
import json
import math
import os

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = os.path.join(HERE, "..", "docs", "performance.md")
IMAGES = os.path.join(HERE, "..", "docs", "images")
BEGIN, END = "<!-- tables: by bench/page.py -->", "<!-- end of tables -->"
BLUE, GREEN, GREY = "#1f5fbf", "#1a8a4a", "#8a8a8a"
PEER_COLOURS = {"Open MPI": "#c8501e", "Open MPI, UCX": "#d98a2b", "Open MPI, tuned": "#a83279", "MPICH": "#7a5fb0",
                "Gloo": "#5a7d7c", "PyTorch's Gloo": "#97743a"}


def us_text(us):
    return "-" if us is None else f"{us:.3f}" if us < 1 else f"{us:.1f}" if us < 100 else f"{us:,.0f}"


def ratio_text(ratio):
    return f"{ratio:.2f}" if ratio else "-"


def all_reduce_table(rows):
    lines = ["| ranks | case | Peal | symmetric | best peer | ratio | against defaults | symmetric's ratio | floor |",
             "|---|---|---|---|---|---|---|---|---|"]
    for row in rows:
        us = row["us"]
        best = row["best_peer"]
        lines.append("| {} | {} | {} | {} | {} | {} | {} | {} | {} |".format(
            row["ranks"], row["case"].removeprefix("all_reduce "), us_text(us["Peal"]),
            us_text(us.get("Peal, symmetric")), f"{us_text(us[best])} ({best})" if best else "-",
            ratio_text(row.get("ratio")), ratio_text(row.get("ratio_defaults")), ratio_text(row.get("ratio_symmetric")),
            us_text(us.get("floor"))))
    return lines


def others_table(rows):
    lines = ["| ranks | case | Peal | symmetric | best peer | ratio |", "|---|---|---|---|---|---|"]
    for row in rows:
        us, best = row["us"], row["best_peer"]
        lines.append("| {} | {} | {} | {} | {} | {} |".format(
            row["ranks"], row["case"], us_text(us["Peal"]), us_text(us.get("Peal, symmetric")),
            f"{us_text(us[best])} ({best})" if best else "-", ratio_text(row.get("ratio"))))
    return lines


def cpu_table(rows):
    """Seconds of all ranks' CPU time per GB: of large messages."""
    lines = ["| ranks | case | Peal | best of the peers |", "|---|---|---|---|"]
    for row in rows:
        cpu = {n: c for n, c in row["cpu_us"].items() if n not in ("floor", "Peal", "Peal, symmetric")}
        if row["bytes"] < 1 << 20 or row["touched"] or not cpu:
            continue
        least = min(cpu, key=cpu.get)
        per_gb = 1e3 / row["bytes"]
        lines.append(f"| {row['ranks']} | {row['case']} | {row['cpu_us']['Peal'] * per_gb:.2f} | "
                     f"{cpu[least] * per_gb:.2f} ({least}) |")
    return lines


class Plot:
    """Curves on logarithmic axes; each is named at its right end, without a legend to search in."""
    WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 900, 520, 80, 190, 50, 60

    def __init__(self, title, x_title, y_title):
        self.title, self.x_title, self.y_title, self.curves = title, x_title, y_title, []

    def add(self, name, points, colour, wide=False, dashed=False):
        if points:
            self.curves.append((name, sorted(points), colour, wide, dashed))

    def x(self, value):
        low, high = self.x_range
        return self.LEFT + (math.log(value / low) / math.log(high / low)) * (self.WIDTH - self.LEFT - self.RIGHT)

    def y(self, value):
        low, high = self.y_range
        return self.HEIGHT - self.BOTTOM - (math.log(value / low) / math.log(high / low)) * (
            self.HEIGHT - self.TOP - self.BOTTOM)

    def svg(self, size_text, value_text):
        xs = [x for _, points, *_ in self.curves for x, _ in points]
        ys = [y for _, points, *_ in self.curves for _, y in points]
        self.x_range = (min(xs), max(xs))
        self.y_range = (10 ** math.floor(math.log10(min(ys))), 10 ** math.ceil(math.log10(max(ys))))
        out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.WIDTH}" height="{self.HEIGHT}" '
               f'font-family="sans-serif" font-size="13">', '<rect width="100%" height="100%" fill="white"/>',
               f'<text x="{self.LEFT}" y="26" font-size="17">{html.escape(self.title)}</text>']
        bottom, right = self.HEIGHT - self.BOTTOM, self.WIDTH - self.RIGHT
        for exponent in range(round(math.log10(self.y_range[0])), round(math.log10(self.y_range[1])) + 1):
            y = self.y(10 ** exponent)
            out.append(f'<line x1="{self.LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
                       f'<text x="{self.LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{value_text(10.0 ** exponent)}</text>')
        for size in sorted(set(xs)):
            x = self.x(size)
            out.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{self.TOP}" y2="{bottom}" stroke="#eee"/>'
                       f'<text x="{x:.1f}" y="{bottom + 20}" text-anchor="middle" font-size="10">{size_text(size)}</text>')
        out.append(f'<text x="{(self.LEFT + right) / 2}" y="{self.HEIGHT - 14}" text-anchor="middle">{self.x_title}</text>'
                   f'<text transform="translate(20 {(self.TOP + bottom) / 2}) rotate(-90)" '
                   f'text-anchor="middle">{self.y_title}</text>')
        labels = []
        for name, points, colour, wide, dashed in self.curves:
            path = " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in points)
            out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{3 if wide else 1.6}"'
                       f'{" stroke-dasharray=&quot;6 4&quot;".replace("&quot;", chr(34)) if dashed else ""}/>')
            out.extend(f'<circle cx="{self.x(x):.1f}" cy="{self.y(y):.1f}" r="{3.5 if wide else 2.5}" fill="{colour}"/>'
                       for x, y in points)
            labels.append([self.y(points[-1][1]) + 4, self.x(points[-1][0]), name, colour, wide])
        labels.sort()
        for above, label in zip(labels, labels[1:]):
            label[0] = max(label[0], above[0] + 16)
        spill = max(0, labels[-1][0] - bottom)
        for y, x, name, colour, wide in labels:
            out.append(f'<text x="{x + 10:.1f}" y="{y - spill:.1f}" fill="{colour}"'
                       f'{" font-weight=" + chr(34) + "bold" + chr(34) if wide else ""}>{html.escape(name)}</text>')
        return "\n".join(out + ["</svg>\n"])


def short_size(n):
    return f"{n >> 20} MiB" if n >= 1 << 20 else f"{n >> 10} KiB" if n >= 1 << 10 else f"{n} B"


def plain(rows, ranks):
    return [r for r in rows if r["ranks"] == ranks and r["collective"] == "all_reduce" and r["type"] == "float" and
            not r["touched"] and r["buffers"] == 1 and r["place"] == "in"]


def curves(plot, rows, value):
    names = {name for row in rows for name in row["us"]}
    for name in sorted(names):
        points = [(row["bytes"], value(row, row["us"][name])) for row in rows if name in row["us"]]
        colour = {"Peal": BLUE, "Peal, symmetric": GREEN, "floor": GREY}.get(name) or PEER_COLOURS.get(name, "#555")
        plot.add("floor: the bound" if name == "floor" else name, points, colour, name.startswith("Peal"),
                 name == "floor")


def draw(rows):
    two = plain(rows, 2)
    bandwidth = Plot("All-reduce on 2 ranks of one host, float sum, in place: bus bandwidth", "size", "busbw, GB/s")
    curves(bandwidth, [r for r in two if r["bytes"] >= 1024], lambda row, us: row["bytes"] / us / 1e3)
    latency = Plot("All-reduce on 4 ranks of 2 cores, float sum, in place: time", "size", "us")
    curves(latency, [r for r in plain(rows, 4) or two if r["bytes"] <= 1 << 20], lambda row, us: us)
    for name, plot in (("all_reduce_bandwidth", bandwidth), ("all_reduce_time", latency)):
        with open(os.path.join(IMAGES, name + ".svg"), "w") as file:
            file.write(plot.svg(short_size, lambda v: f"{v:g}"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="what compare.sh --json wrote")
    file = parser.parse_args().file
    try:
        rows = json.load(open(file))
    except (OSError, json.JSONDecodeError) as error:
        parser.error(f"{file}: {error}")
    reduce_rows = [r for r in rows if r["collective"] == "all_reduce"]
    tables = [BEGIN, "", "### All-reduce, us", "", *all_reduce_table(reduce_rows), "", "### The others, us", "",
              *others_table([r for r in rows if r["collective"] != "all_reduce"]), "",
              "### CPU seconds of all ranks per GB", "", *cpu_table(reduce_rows), "", END]
    page = open(PAGE).read()
    begin, end = page.index(BEGIN), page.index(END) + len(END)
    with open(PAGE, "w") as file:
        file.write(page[:begin] + "\n".join(tables) + page[end:])
    draw(rows)


if __name__ == "__main__":
    main()
