"""The instructions of an 8-byte all-reduce on one of 2 ranks, counted by callgrind, against docs/performance.md."""
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM, PAGE = sys.argv[1:3]
CALLS = 1000
MOST_GROWTH = 1.2


def instructions():
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(["valgrind", "--tool=callgrind", "--toggle-collect=peal_measured_all_reduce",
                               f"--callgrind-out-file={folder}/out", PROGRAM, str(CALLS)],
                              capture_output=True, text=True, timeout=250)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return int(re.search(r"Collected : (\d+)", done.stderr).group(1)) / CALLS


class SmallAllReduce(unittest.TestCase):
    @unittest.skipUnless(shutil.which("valgrind"), "no valgrind on this machine")
    def test_takes_no_more_instructions_than_the_page_says(self):
        on_page = float(re.search(r"\*\*([\d,]+) instructions\*\*", open(PAGE).read()).group(1).replace(",", ""))
        counted = instructions()
        print(f"{counted:.0f} instructions, {on_page:.0f} in docs/performance.md")
        self.assertGreater(counted, 50, "counted too little: was the measured function found?")
        self.assertLess(counted, on_page * MOST_GROWTH)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
