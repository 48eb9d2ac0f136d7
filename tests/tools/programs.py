"""Runs the built programs for the tests beside this file."""
import os
import pathlib
import subprocess
import sys
import unittest

BIN = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()


def run(*command, settings=None, timeout=120):
    """A finished process: .returncode, .stdout, .stderr. Only PEAL_* from `settings` are set."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PEAL_")}
    environment.update(settings or {})
    command = [str(BIN / command[0]), *map(str, command[1:])]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=environment,
                          stdin=subprocess.DEVNULL)


def main():
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
