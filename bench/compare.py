"""Runs Peal and its peers in turns (bench/peers/turns.h) and prints the table: called by compare.sh, which builds them.

Every contestant's ranks are started once and sleep; for each case the contestants take turns, several rounds, and the
medians are compared. A case's bound is what each rank's part would cost if all bytes were its own ("floor")."""
import argparse
import json
import os
import re
import select
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

KIB, MIB = 1 << 10, 1 << 20
TURN_NS = 25e6        # how long a turn should last
FRESH_BYTES = 96 * MIB  # of all buffers of a rank in a turn with fresh ones: three times the L3 cache here
PATIENCE_S = 120      # for one turn


class Contestant:
    def __init__(self, name, command, environment=None, symmetric=False):
        self.name, self.command, self.environment = name, command, environment or {}
        self.symmetric = symmetric
        self.process = None

    def start(self, folder, ranks, each_by_hand):
        self.ranks = ranks
        self.base = os.path.join(folder, self.name.replace(" ", "_").replace(",", ""))
        for end in [*range(ranks), "answers"]:
            os.mkfifo(f"{self.base}.{end}")
        environment = {**os.environ, **self.environment}
        command = [word.replace("{ranks}", str(ranks)).replace("{base}", self.base).replace("{folder}", folder)
                   for word in self.command]
        self.log = open(f"{self.base}.log", "w")
        launch = lambda extra: subprocess.Popen(command, env={**environment, **extra}, stdout=self.log, stderr=self.log)
        self.process = ([launch({"RANK": str(r), "SIZE": str(ranks)}) for r in range(ranks)] if each_by_hand
                        else [launch({})])
        # Both ends here, so that opening never waits for a rank that failed to start.
        self.turns = [open(os.open(f"{self.base}.{r}", os.O_RDWR), "w") for r in range(ranks)]
        self.answers = os.open(f"{self.base}.answers", os.O_RDWR | os.O_NONBLOCK)
        self.text = ""

    def turn(self, case, memory, iterations):
        """Nanoseconds per operation on the slowest rank, CPU nanoseconds of all; None: it has no such operation."""
        line = (f"{case.collective} {case.kind} {case.bytes} {case.place} {memory} {case.buffers} "
                f"{int(case.touched)} {iterations}\n")
        for fifo in self.turns:
            fifo.write(line)
            fifo.flush()
        lines, deadline = [], time.monotonic() + PATIENCE_S
        while len(lines) < self.ranks:
            if any(p.poll() is not None for p in self.process):
                raise RuntimeError(f"{self.name} ended; its output:\n{open(self.log.name).read()[-2000:]}")
            if time.monotonic() > deadline:
                raise RuntimeError(f"{self.name} took more than {PATIENCE_S} s for {line.strip()}")
            if select.select([self.answers], [], [], 0.2)[0]:
                self.text += os.read(self.answers, 65536).decode()
            while "\n" in self.text and len(lines) < self.ranks:
                answer, self.text = self.text.split("\n", 1)
                lines.append(answer.split())
        if any(answer[3] == "wrong" for answer in lines):
            raise RuntimeError(f"{self.name}: wrong sums for {line.strip()}")
        if any(answer[3] == "absent" for answer in lines):
            return None
        return max(float(a[1]) for a in lines), sum(float(a[2]) for a in lines)

    def stop(self):
        for process in self.process or []:
            process.terminate()
        for process in self.process or []:
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


class Case:
    def __init__(self, collective, nbytes, kind="float", place="in", fresh=False, touched=False):
        self.collective, self.bytes, self.kind, self.place, self.touched = collective, nbytes, kind, place, touched
        self.buffers = max(2, min(64, FRESH_BYTES // nbytes)) if fresh else 1
        self.title = " ".join(filter(None, [collective, "" if kind == "float" else kind, size_text(nbytes),
                                            "" if place == "in" else "out of place",
                                            "fresh" if fresh else "", "touched" if touched else ""]))


def size_text(nbytes):
    for unit, name in ((MIB, "MiB"), (KIB, "KiB")):
        if nbytes >= unit and nbytes % unit == 0:
            return f"{nbytes // unit} {name}"
    return f"{nbytes} B"


def contestants(args, ranks):
    found = []
    peer = lambda name: os.path.join(args.peers, name)
    openmpi = ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", "{ranks}"]
    if os.path.exists(peer("mpi-openmpi")):
        program = [peer("mpi-openmpi"), "{base}"]
        found.append((Contestant("Open MPI", openmpi + program), False))
        found.append((Contestant("Open MPI, UCX", openmpi + [
            "--mca", "pml", "ucx", "--mca", "opal_common_ucx_tls", "any", "--mca", "opal_common_ucx_devices", "any"] +
            program), False))
        kept = {"GLIBC_TUNABLES": "glibc.malloc.mmap_threshold=4294967296:glibc.malloc.trim_threshold=8589934592"}
        found.append((Contestant("Open MPI, tuned", openmpi + ["--mca", "btl_vader_single_copy_mechanism", "none"] +
                                 program, kept), False))
    if os.path.exists(peer("mpi-mpich")):
        found.append((Contestant("MPICH", ["mpirun.mpich", "-n", "{ranks}", peer("mpi-mpich"), "{base}"]), False))
    if os.path.exists(peer("gloo")):
        found.append((Contestant("Gloo", [peer("gloo"), "{base}", "{folder}"]), True))
    if subprocess.run(["/usr/bin/python3", "-c", "import torch.distributed"], capture_output=True).returncode == 0:
        here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "peers", "torch_gloo.py")
        found.append((Contestant("PyTorch's Gloo", ["/usr/bin/python3", here, "{base}", "{folder}"]), True))
    run = [os.path.join(args.bin, "peal-run"), "-n", "{ranks}", "--", os.path.join(args.bin, "compare_peal"), "{base}"]
    found.append((Contestant("Peal", run), False))
    return found


def started(contestant, folder, ranks, by_hand):
    contestant.start(folder, ranks, by_hand)
    try:
        contestant.turn(Case("all_reduce", 8), "ordinary", 1)
        return True
    except RuntimeError as error:
        if contestant.name == "Peal":
            raise
        print(f"# without {contestant.name}: it does not run here:", str(error).strip().splitlines()[-1])
        return False


def cases(quick, ranks):
    small, sizes = [8, KIB], [64 * KIB, MIB, 16 * MIB, 64 * MIB]
    if ranks == 2 and not quick:
        sizes.append(256 * MIB)
    yield from (Case("all_reduce", n) for n in small + sizes)
    if not quick:
        yield from (Case("all_reduce", n) for n in (64, 256, 4 * KIB, 16 * KIB, 256 * KIB, 4 * MIB))
        yield from (Case("all_reduce", n, place="out") for n in (MIB, 16 * MIB))
        yield from (Case("all_reduce", n, fresh=True) for n in (64 * KIB, MIB, 16 * MIB))
    yield from (Case("all_reduce", n, touched=True) for n in sizes if n < 256 * MIB)
    yield Case("all_reduce", 16 * MIB, kind="bfloat16")
    for collective in ("reduce_scatter", "all_gather", "broadcast", "reduce", "all_to_all", "gather", "scatter"):
        if ranks <= 4:
            place = "in" if collective != "all_to_all" else "out"
            yield from (Case(collective, n, place=place)
                        for n in ([16 * MIB] if quick else [64 * KIB, MIB, 16 * MIB]))
    if ranks == 2:
        yield from (Case("ping_pong", n, place="out") for n in (8, 64 * KIB, 16 * MIB))


def has_symmetric(case):
    return case.collective in ("all_reduce", "reduce_scatter", "all_gather", "all_to_all") and case.bytes >= 64 * KIB


def measure(case, players, rounds):
    """{contestant: [(ns, cpu ns), ...]}, the contestants alternating."""
    entries = [(p.name, p, case, "ordinary") for p in players]
    peal = players[-1]
    if has_symmetric(case):
        entries.append(("Peal, symmetric", peal, case, "symmetric"))
    if case.collective == "all_reduce" and not case.touched:
        bound = Case("floor", case.bytes, kind=case.kind)
        bound.buffers = case.buffers
        entries.append(("floor", peal, bound, "ordinary"))
    results, iterations = {}, {}
    for round_number in range(-1, rounds):
        for name, player, this, memory in entries:
            if iterations.get(name, 1) == 0:
                continue
            answer = player.turn(this, memory, iterations.get(name, 3))
            if answer is None:
                iterations[name] = 0
                continue
            if round_number >= 0:
                results.setdefault(name, []).append(answer)
            least = 2 if case.bytes >= 16 * MIB else 10
            iterations[name] = int(max(least, min(100000, TURN_NS / max(answer[0], 50))))
    return results


def summarize(case, ranks, results):
    us = {name: statistics.median(a[0] for a in answers) / 1e3 for name, answers in results.items()}
    cpu = {name: statistics.median(a[1] for a in answers) / 1e3 for name, answers in results.items()}
    peers = {n: t for n, t in us.items() if not n.startswith("Peal") and n != "floor" or n == "PyTorch's Gloo"}
    defaults = {n: t for n, t in peers.items() if n != "Open MPI, tuned"}
    half = 2 if case.collective == "ping_pong" else 1  # one way
    best = min(peers, key=peers.get) if peers else ""
    row = {"case": case.title, "collective": case.collective, "type": case.kind, "bytes": case.bytes, "ranks": ranks,
           "touched": case.touched, "buffers": case.buffers, "place": case.place,
           "us": {n: t / half for n, t in us.items()}, "cpu_us": cpu,
           "spread": {n: [min(a[0] for a in r) / 1e3 / half, max(a[0] for a in r) / 1e3 / half]
                      for n, r in results.items()},
           "best_peer": best}
    if best:
        row["ratio"] = peers[best] / us["Peal"]
        row["ratio_defaults"] = min(defaults.values()) / us["Peal"] if defaults else None
        if "Peal, symmetric" in us:
            row["ratio_symmetric"] = peers[best] / us["Peal, symmetric"]
            row["ratio_symmetric_defaults"] = min(defaults.values()) / us["Peal, symmetric"] if defaults else None
    return row


def print_row(row):
    us = row["us"]
    number = lambda t: "-" if t is None else f"{t:.3f}" if t < 1 else f"{t:.1f}" if t < 1000 else f"{t:.0f}"
    ratio = lambda key: f"{row[key]:.2f}" if row.get(key) else "-"
    floor, symmetric = us.get("floor"), us.get("Peal, symmetric")
    nearest = min(us["Peal"], symmetric or us["Peal"])
    print(f"{row['case']:34} {row['ranks']:3} {number(us['Peal']):>9} {number(symmetric):>9} "
          f"{number(us.get(row['best_peer'])):>9} {row['best_peer']:16} {ratio('ratio'):>6} {ratio('ratio_defaults'):>6} "
          f"{ratio('ratio_symmetric'):>6} {number(floor):>9} {f'{floor / nearest:.2f}' if floor else '-':>6}", flush=True)


def rank_counts(text):
    counts = [int(n) for n in text.split(",") if n.isdigit()]
    if len(counts) != len(text.split(",")) or min(counts) < 2:
        raise argparse.ArgumentTypeError(f"'{text}': expected numbers of ranks, each at least 2, e.g. 2,4,8")
    return counts


def pattern(text):
    try:
        return re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"'{text}' is no regular expression: {error}")


def main():
    parser = argparse.ArgumentParser(prog="bench/compare.sh", description=__doc__)
    parser.add_argument("--bin", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--peers", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true", help="fewer sizes and rounds: minutes instead of half an hour")
    parser.add_argument("--ranks", type=rank_counts, default="2,4,8", help="how many ranks, e.g. 2,4,8")
    parser.add_argument("--cases", type=pattern, default="", help="only cases whose title this regular expression is found in")
    parser.add_argument("--rounds", type=int, help="how often the contestants alternate (default 7, quick: 3)")
    parser.add_argument("--json", help="file for all figures")
    args = parser.parse_args()
    rounds = args.rounds or (3 if args.quick else 7)
    rows = []
    for ranks in args.ranks:
        folder = tempfile.mkdtemp(prefix="peal-compare-")
        found = contestants(args, ranks)
        players = [contestant for contestant, _ in found]
        try:
            players = [contestant for contestant, by_hand in found if started(contestant, folder, ranks, by_hand)]
            print(f"# {ranks} ranks; us per operation on the slowest rank, medians of {rounds} turns each; "
                  f"ratios: best peer / Peal, best peer with default settings / Peal, best peer / Peal symmetric; "
                  f"last: floor / the faster of Peal's")
            print(f"# {'case':32} {'n':>3} {'Peal':>9} {'symmetric':>9} {'best peer':>9} {'its name':16} {'ratio':>6} "
                  f"{'dflt':>6} {'symm':>6} {'floor':>9} {'frac':>6}", flush=True)
            for case in cases(args.quick, ranks):
                if not args.cases.search(case.title):
                    continue
                rows.append(summarize(case, ranks, measure(case, players, rounds)))
                print_row(rows[-1])
        finally:
            for contestant, _ in found:
                contestant.stop()
            shutil.rmtree(folder, ignore_errors=True)
    if args.json:
        with open(args.json, "w") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    try:
        main()
    except RuntimeError as error:
        sys.exit(f"compare: {error}")
