"""headers_alone.py ROOT COMPILE_COMMANDS: every header compiles on its own, with its folder's flags."""
import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

FOLDERS = ("base", "topology", "transports", "collectives", "trainer", "tools")


def flags_by_folder(root, commands):
    """The -I, -D and -isystem flags of some source of each folder."""
    flags = {}
    for entry in json.loads(pathlib.Path(commands).read_text()):
        source = pathlib.Path(entry["file"])
        if root not in source.parents or source.suffix != ".cc":
            continue
        words = shlex.split(entry["command"])
        kept = []
        for i, word in enumerate(words):
            if word.startswith(("-I", "-D")):
                kept.append(word)
            elif word == "-isystem":
                kept += [word, words[i + 1]]
        folder = source.relative_to(root).parts[0]
        flags[folder] = sorted(set(flags.get(folder, []) + [f for f in kept if f.startswith(("-I", "-D"))])) + [
            f for f in kept if not f.startswith(("-I", "-D"))]
    return flags


def compile_alone(root, header, flags):
    name = header.relative_to(root)
    with tempfile.NamedTemporaryFile("w", suffix=".cc") as source:
        # Twice: a header without a guard shows.
        source.write(f'#include "{name}"\n#include "{name}"\n')
        source.flush()
        compiler = os.environ.get("CXX", "c++")
        result = subprocess.run([compiler, "-std=c++20", "-fsyntax-only", "-I", str(root), *flags, source.name],
                                capture_output=True, text=True)
    return "" if result.returncode == 0 else f"{name}:\n{result.stderr[:2000]}"


def main():
    root = pathlib.Path(sys.argv[1])
    flags = flags_by_folder(root, sys.argv[2])
    headers = [header for folder in FOLDERS if folder in flags for header in sorted((root / folder).rglob("*.h"))]
    assert len(headers) > 20, f"only {len(headers)} headers below {root}"
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        faults = list(filter(None, pool.map(
            lambda header: compile_alone(root, header, flags[header.relative_to(root).parts[0]]), headers)))
    print("\n".join(faults) or f"{len(headers)} headers compile alone")
    return 1 if faults else 0


sys.exit(main())
