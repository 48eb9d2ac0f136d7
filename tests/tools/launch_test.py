"""peal-run: exit codes, output, and that nothing is left behind."""
import json
import os
import signal
import subprocess
import time
import unittest

from programs import BIN, main, run


def shell(script, *options, ranks=2, **more):
    return run("peal-run", "-n", ranks, *options, "--", "sh", "-c", script, **more)


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def command_line(pid):
    try:
        with open(f"/proc/{pid}/cmdline") as file:
            return file.read()
    except OSError:  # ended meanwhile
        return ""


def wait_until(condition, seconds=10):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return False


class Launch(unittest.TestCase):
    def test_every_rank_learns_its_place(self):
        done = shell('echo "$PEAL_RANK of $PEAL_SIZE at $PEAL_ROOT, key ${#PEAL_KEY}"', ranks=3)
        self.assertEqual(done.returncode, 0)
        lines = sorted(done.stdout.splitlines())
        self.assertEqual(len(lines), 3)
        for rank, line in enumerate(lines):
            self.assertRegex(line, rf"^{rank} of 3 at unix:\S+, key 64$")

    def test_the_first_failing_rank_gives_the_exit_code(self):
        done = shell("if [ $PEAL_RANK = 1 ]; then exit 5; fi; exec sleep 60", ranks=3)
        self.assertEqual(done.returncode, 5)
        self.assertIn("rank 1", done.stderr)
        self.assertIn("exited with code 5", done.stderr)

    def test_a_killed_rank_is_128_plus_the_signal(self):
        done = shell("if [ $PEAL_RANK = 0 ]; then kill -SEGV $$; fi; exec sleep 60")
        self.assertEqual(done.returncode, 128 + signal.SIGSEGV)
        self.assertIn("killed by signal 11", done.stderr)

    def test_a_program_that_is_not_there(self):
        done = run("peal-run", "-n", "2", "no-such-program")
        self.assertEqual(done.returncode, 127)
        self.assertIn("can't start 'no-such-program': No such file or directory", done.stderr)
        own = shell("exit 127")
        self.assertEqual(own.returncode, 127)
        self.assertIn("exited with code 127", own.stderr)

    def test_usage_errors(self):
        for words in ([], ["-n", "2"], ["-n", "0", "true"], ["-n", "two", "true"], ["--nonsense", "-n", "1", "true"]):
            done = run("peal-run", *words)
            self.assertEqual(done.returncode, 2, words)
            self.assertTrue(done.stderr.strip(), words)

    def test_help_and_version(self):
        self.assertEqual(run("peal-run", "--help").returncode, 0)
        self.assertRegex(run("peal-run", "--version").stdout, r"^0\.1\.0")

    def test_the_programs_own_dashes_are_left_alone(self):
        self.assertEqual(run("peal-run", "-n", "1", "echo", "-n", "--help", "x").stdout, "--help x")
        self.assertEqual(run("peal-run", "-n", "1", "--", "echo", "--", "-y").stdout, "-- -y\n")

    def test_prefix_keeps_lines_whole(self):
        script = 'for i in 1 2 3 4 5 6 7 8; do printf "%s" "a$PEAL_RANK"; echo "b$PEAL_RANK"; done; echo err >&2; printf end'
        done = shell(script, "--prefix", ranks=4)
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), 4 * 9)
        for line in lines:
            self.assertRegex(line, r"^\[(\d)\] (a\1b\1|end)$")
        self.assertEqual(sorted(done.stderr.splitlines()), [f"[{rank}] err" for rank in range(4)])

    def test_json(self):
        done = run("peal-run", "-n", "2", "--json", "false")
        self.assertEqual(json.loads(done.stdout), {"ranks": 2, "exit_code": 1})
        self.assertEqual(done.returncode, 1)

    def start_sleepers(self, script):
        """peal-run with two ranks that print the pids of their sleeping grandchildren; and those pids."""
        process = subprocess.Popen([str(BIN / "peal-run"), "-n", "2", "--", "sh", "-c", script],
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(process.stdout.close)
        pids = [int(word) for _ in range(2) for word in process.stdout.readline().split()]
        self.assertEqual(len(pids), 4)
        return process, pids

    SLEEPERS = 'sleep 300 & echo $$ $!; wait'

    def test_nothing_outlives_a_launcher_killed_with_9(self):
        process, pids = self.start_sleepers(self.SLEEPERS)
        process.kill()
        process.wait()
        self.assertTrue(wait_until(lambda: not any(map(alive, pids))), [pid for pid in pids if alive(pid)])

    def test_nothing_outlives_a_launcher_killed_while_it_starts_ranks(self):
        mark = f"299.{os.getpid()}"  # found on no other command line
        script = f"sleep {mark} & sleep {mark}"

        def sleepers():
            return [pid for pid in filter(str.isdigit, os.listdir("/proc")) if mark in command_line(pid)]

        for delay_ms in range(30):
            process = subprocess.Popen([str(BIN / "peal-run"), "-n", "8", "--", "sh", "-c", script])
            time.sleep(delay_ms / 1000)  # another moment of the start each time
            process.kill()
            process.wait()
        self.assertTrue(wait_until(lambda: not sleepers()), sleepers())

    def test_interrupting_the_launcher_ends_all(self):
        for name, number in (("INT", signal.SIGINT), ("TERM", signal.SIGTERM)):
            process, pids = self.start_sleepers(self.SLEEPERS)
            process.send_signal(number)
            self.assertEqual(process.wait(15), 128 + number, name)
            self.assertTrue(wait_until(lambda: not any(map(alive, pids))), name)

    def test_ranks_that_ignore_signals_are_killed(self):
        process, pids = self.start_sleepers('trap "" INT TERM; sleep 300 & echo $$ $!; wait; wait; sleep 300')
        process.send_signal(signal.SIGINT)
        process.wait(15)
        self.assertTrue(wait_until(lambda: not any(map(alive, pids))))

    def test_what_a_finished_rank_left_behind_is_ended(self):
        done = shell("sleep 300 >/dev/null 2>&1 & echo $!")
        self.assertEqual(done.returncode, 0)
        pids = [int(line) for line in done.stdout.split()]
        self.assertTrue(wait_until(lambda: not any(map(alive, pids))))

    def test_standard_input_goes_to_rank_0(self):
        done = subprocess.run([str(BIN / "peal-run"), "-n", "2", "--prefix", "--", "cat"], input="hello\n", text=True,
                              capture_output=True, timeout=30)
        self.assertEqual(done.stdout, "[0] hello\n")

    def test_the_launcher_within_a_launcher(self):
        inner = str(BIN / "peal-run")
        done = shell(f"{inner} -n 2 -- sh -c 'echo $PEAL_RANK'", ranks=2)
        self.assertEqual(sorted(done.stdout.split()), ["0", "0", "1", "1"])


if __name__ == "__main__":
    os.setpgrp()
    main()
