"""include_arrows.py ROOT: fails on an #include that goes against docs/design.md's arrows, or a library's header in a header."""
import pathlib
import re
import sys

# Who may include whom; every folder may include itself. tools, bench and tests may include anything.
ARROWS = {
    "base": set(),
    "topology": {"base"},
    "transports": {"base"},
    "collectives": {"base", "topology", "transports"},
    "trainer": {"base", "collectives", "tools"},
}
# The trainer starts local ranks itself, by the tools' launcher, and uses of collectives/ what users do.
ONLY = {("trainer", "tools"): {"tools/local_launch.h"}, ("trainer", "collectives"): {"collectives/communicator.h"}}
NEVER_IN_HEADERS = ("hwloc.h", "ucp/", "mpi.h", "infiniband/verbs.h", "cuda_runtime.h")
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]')


def faults(root):
    for path in sorted(root.glob("*/**/*")):
        folder = path.relative_to(root).parts[0]
        if folder not in ARROWS or path.suffix not in (".h", ".cc", ".c", ".inc"):
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            name, where = match.group(1), f"{path.relative_to(root)}:{number}"
            if path.suffix == ".h" and name.startswith(NEVER_IN_HEADERS):
                yield f"{where}: {name} belongs into .cc files only"
            target = name.split("/")[0]
            if target == folder or target not in set(ARROWS) | {"tools", "bench", "tests"}:
                continue
            if target not in ARROWS[folder] or name not in ONLY.get((folder, target), {name}):
                yield f"{where}: {folder}/ may not include {name}"


def main():
    root = pathlib.Path(sys.argv[1])
    found = list(faults(root))
    checked = sum(1 for folder in ARROWS for _ in (root / folder).rglob("*.h"))
    assert checked > 20, f"only {checked} headers below {root}"
    print("\n".join(found) or f"{checked} headers and their sources: all arrows point down")
    return 1 if found else 0


sys.exit(main())
