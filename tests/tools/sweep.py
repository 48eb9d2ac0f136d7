"""sweep.py BIN [TRANSPORT...]: every *_perf program x algorithm x number of ranks on each transport, all types and
operations, checked. Takes some minutes: run by hand before a release; ctest runs perf_test.py's smaller choice."""
import json
import os
import pathlib
import subprocess
import sys
import time

RANKS = (1, 2, 3, 4, 5, 7, 8)
COLLECTIVE = {"alltoall": "all_to_all", "alltoallv": "all_to_all"}  # program -> its name among the algorithms
PROGRAMS = ("all_reduce all_gather reduce_scatter broadcast reduce alltoall alltoallv gather scatter sendrecv "
            "barrier").split()
FLAGS = "-b 8 -e 256K -f 32 -n 1 -w 0 -d all -o all -T 300".split()


def cases(binaries, transports):
    facts = json.loads(subprocess.run([binaries / "peal-info", "--json"], capture_output=True, check=True).stdout)
    for transport in transports:
        for program in PROGRAMS:
            names = facts["algorithms"].get(COLLECTIVE.get(program, program), [None])
            for algorithm in names:
                for ranks in RANKS:
                    yield transport, program, algorithm, ranks


def impossible(transport, program, algorithm, ranks):
    """Why a case can't be, or None: such a call must be refused, not computed otherwise."""
    mapped = algorithm in ("one_shot", "two_shot", "symmetric", "direct")
    if mapped and (transport in ("tcp", "ucx") or ranks == 1):
        return "no memory is mapped by all ranks"
    if mapped and program == "alltoallv":
        return "not all ranks know all counts"
    return None


def run(binaries, transport, program, algorithm, ranks):
    flags = list(FLAGS)
    settings = {name: value for name, value in os.environ.items() if not name.startswith("PEAL_")}
    if algorithm:
        # Checking uses an all-reduce and an all-gather of its own, which stay free unless they are what is measured.
        settings["PEAL_ALGO"] = f"{COLLECTIVE.get(program, program)}:{algorithm}"
    if algorithm == "symmetric":
        settings["PEAL_ALGO"] += ",two_shot"  # for the out-of-place half, which symmetric memory can't serve
        flags += ["-R", "2"]
    if transport == "inproc":
        flags += ["-t", str(ranks)]
    else:
        settings["PEAL_TRANSPORT"] = transport
        flags += ["--ranks", str(ranks)]
    return subprocess.run([str(binaries / f"{program}_perf"), *flags], capture_output=True, text=True, env=settings,
                          stdin=subprocess.DEVNULL)


def main():
    binaries = pathlib.Path(sys.argv[1]).resolve()
    passed, left_out, failed = 0, 0, 0
    start = time.monotonic()
    for case in cases(binaries, sys.argv[2:] or ("shm", "tcp", "ucx", "inproc")):
        if impossible(*case):
            left_out += 1
            continue
        done = run(binaries, *case)
        right = done.returncode == 0 and ("Out of bounds values : 0 OK" in done.stdout)
        passed, failed = passed + right, failed + (not right)
        if not right:
            print(*case, "exit code", done.returncode, done.stderr[-500:], done.stdout[-200:], flush=True)
    print(f"{passed} passed, {failed} failed, {left_out} that can't be, in {time.monotonic() - start:.0f} s")
    return 1 if failed else 0


sys.exit(main())
