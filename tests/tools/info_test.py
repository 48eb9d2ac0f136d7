"""peal-info: what it says of build, settings, plans and choices."""
import json
import unittest

from programs import main, run


class Info(unittest.TestCase):
    def test_summary(self):
        done = run("peal-info")
        self.assertEqual(done.returncode, 0, done.stderr)
        for word in ("Peal 0.1.0", "inproc", "shm", "tcp", "halving_doubling", "core"):
            self.assertIn(word, done.stdout)
        facts = json.loads(run("peal-info", "--json").stdout)
        self.assertIn("two_shot", facts["algorithms"]["all_reduce"])
        self.assertTrue(any(one["name"] == "shm" and one["usable"] for one in facts["transports"]))

    def test_settings_with_values_and_sources(self):
        done = run("peal-info", "--env", settings={"PEAL_NSOCKS": "3", "PEAL_KEY": "hush", "PEAL_TIMOUT": "1"})
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stdout, r"PEAL_NSOCKS\s+3\s+environment")
        self.assertRegex(done.stdout, r"PEAL_KEY\s+set\s+environment")
        self.assertNotIn("hush", done.stdout)
        self.assertIn("did you mean PEAL_TIMEOUT?", done.stderr)
        rows = json.loads(run("peal-info", "--env", "--json").stdout)
        self.assertTrue(all(row["source"] == "default" for row in rows))

    def test_plan(self):
        done = run("peal-info", "--plan", "ring", "all_reduce", "3")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("ring all_reduce: rank"), 3)
        self.assertIn("recv_reduce out[0] from 0", done.stdout)
        plans = json.loads(run("peal-info", "--plan", "ring", "all_reduce", "3", "--json").stdout)
        self.assertEqual([plan["rank"] for plan in plans], [0, 1, 2])

    def test_explain(self):
        done = run("peal-info", "--explain", "all_reduce", "1MiB")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("two_shot", done.stdout)
        network = json.loads(run("peal-info", "--explain", "all_reduce", "1MiB", "--transport", "tcp", "--json").stdout)
        self.assertNotIn("two_shot", [choice["algorithm"] for choice in network])
        times = [choice["expected_us"] for choice in network]
        self.assertEqual(times, sorted(times))

    def test_usage_errors_are_2_and_say_what(self):
        for words, said in ((["--nonsense"], "nonsense"), (["--plan", "rign", "all_reduce", "3"], "did you mean ring"),
                            (["--plan", "ring", "allreduce", "3"], "all_reduce"), (["--plan", "ring", "all_reduce", "x"], "x"),
                            (["--explain", "all_reduce", "1Q"], "1Q"),
                            (["--explain", "all_reduce", "1M", "--transport", "tpc"], "did you mean tcp"),
                            (["--markdown"], "--env"), (["--env", "--plan", "ring", "all_reduce", "3"], "excludes"),
                            (["--explain", "all_reduce"], "explain")):
            done = run("peal-info", *words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn(said, done.stderr, words)

    def test_help_and_version(self):
        self.assertEqual(run("peal-info", "--help").returncode, 0)
        self.assertRegex(run("peal-info", "--version").stdout, r"^0\.1\.0")


if __name__ == "__main__":
    main()
