#!/usr/bin/env python3
"""What simulate() expects of all-reduce on this machine against what it takes: 2 pinned ranks, shm and tcp.

usage: bench/simulated_vs_measured.py [--bin build/release/bin] [--rounds 5]

`peal-topo --measure` replaces the default figures first; then each algorithm runs at each size, all of them in turn, so that
a noisy neighbour hits all alike. Prints a table in Markdown: medians, and the ratio of simulated to measured.
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile

SIZES = ("8", "64K", "16M")
ALGORITHMS = {"shm": ("ring", "double_tree", "one_shot", "two_shot"), "tcp": ("ring", "double_tree", "pairwise")}


def run(command, **settings):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PEAL_")}
    done = subprocess.run(command, env={**environment, **settings}, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def measured_us(folder, transport, algorithm, size, machine):
    iterations = {"8": "2000", "64K": "500", "16M": "15"}[size]
    result = json.loads(run([f"{folder}/all_reduce_perf", "--ranks", "2", "-b", size, "-e", size, "-n", iterations,
                             "-w", "5", "-c", "0", "--json"], PEAL_TRANSPORT=transport,
                            PEAL_ALGO=f"all_reduce:{algorithm}", PEAL_TOPO_FILE=machine))
    return result["rows"][0]["out_of_place"]["time_us"]


def simulated_us(folder, transport, algorithm, size, machine):
    choices = json.loads(run([f"{folder}/peal-info", "--explain", "all_reduce", size, "--ranks", "2", "--transport",
                              transport, "--json"], PEAL_ALGO=f"all_reduce:{algorithm}", PEAL_TOPO_FILE=machine))
    return choices[0]["expected_us"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/release/bin", help="where the programs are")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    cases = [(transport, algorithm, size) for transport, all_of_it in ALGORITHMS.items() for algorithm in all_of_it
             for size in SIZES]
    with tempfile.TemporaryDirectory() as folder:
        machines = {}
        for transport in ALGORITHMS:
            machines[transport] = f"{folder}/{transport}.json"
            run([f"{options.bin}/peal-run", "-n", "2", "--", f"{options.bin}/peal-topo", "--measure", "--convert",
                 machines[transport]], PEAL_TRANSPORT=transport)
        times = {case: [] for case in cases}
        for _ in range(options.rounds):
            for case in cases:
                times[case].append(measured_us(options.bin, *case, machines[case[0]]))
        print("| transport | algorithm | size | measured (us) | spread (us) | simulated (us) | ratio |")
        print("|---|---|---|---|---|---|---|")
        for case in cases:
            simulated, measured = simulated_us(options.bin, *case, machines[case[0]]), statistics.median(times[case])
            print(f"| {case[0]} | {case[1]} | {case[2]} | {measured:.4g} | {min(times[case]):.4g}-{max(times[case]):.4g} "
                  f"| {simulated:.4g} | {simulated / measured:.2f} |")


if __name__ == "__main__":
    main()
