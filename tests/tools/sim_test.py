"""peal-sim: what it says of jobs on machines that are not there."""
import json
import pathlib
import tempfile
import unittest
import xml.etree.ElementTree as xml

from programs import main, run


def rows(*words):
    done = run("peal-sim", *words, "--json")
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)["rows"]


class Sim(unittest.TestCase):
    def test_a_ring_inside_a_host_takes_the_time_of_its_formula(self):
        row, = rows("--from", "dgx-h100", "--algorithms", "ring", "--sizes", "16G")
        # 2 (n - 1) / n of the bytes leave each GPU at 450 GB/s, besides what beginning steps takes.
        least = 2 * 7 / 8 * 16 * 2**30 / 450e9 * 1e6
        self.assertGreater(row["time_us"], least)
        self.assertLess(row["time_us"], 2 * least)
        self.assertIn("NVSwitch", row["busiest_link"])

    def test_across_hosts_the_nic_is_the_limit(self):
        ring, tree = rows("--from", "host:4 dgx-h100", "--algorithms", "ring,hierarchical", "--sizes", "1G")
        self.assertIn("NIC", ring["busiest_link"])
        self.assertLess(ring["busbw"], 50)
        self.assertGreater(ring["busbw"], 45)
        self.assertGreater(tree["busbw"], 2 * ring["busbw"])  # all eight NICs

    def test_large_jobs_fold(self):
        row, = rows("--from", "host:2048 dgx-h100", "--algorithms", "hierarchical_doubling", "--sizes", "1M")
        self.assertEqual((row["ranks"], row["simulated_ranks"]), (16384, 16384))
        ring, = rows("--from", "host:256 dgx-h100", "--algorithms", "ring", "--sizes", "8")
        self.assertEqual((ring["ranks"], ring["simulated_ranks"]), (2048, 8))
        self.assertEqual(ring["critical_path"]["messages"], 2 * 2047)

    def test_interleaved_ranks_cost_more(self):
        block, = rows("--from", "host:4 package:1 gpu:4 nic:1", "--algorithms", "ring", "--sizes", "1G")
        spread, = rows("--from", "host:4 package:1 gpu:4 nic:1", "--algorithms", "ring", "--sizes", "1G", "--place", "interleaved")
        # Rings follow the placement: the same time, wherever ranks are.
        self.assertAlmostEqual(spread["time_us"] / block["time_us"], 1, places=6)

    def test_cores_and_other_collectives(self):
        for collective in ("all_gather", "reduce_scatter", "broadcast", "all_to_all", "barrier"):
            for row in rows("--from", "host:2 package:2 core:2", "--collective", collective, "--sizes", "64K"):
                self.assertGreater(row["time_us"], 0)

    def test_table_and_curves(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "curves.svg"
            done = run("peal-sim", "--from", "host:4 dgx-h100", "--ranks", "8,16,32", "--algorithms", "ring,double_tree",
                       "--sizes", "1M", "--svg", path)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(len([line for line in done.stdout.splitlines() if not line.startswith("#")]), 6)
            texts = [element.text or "" for element in xml.parse(path).iter("{http://www.w3.org/2000/svg}text")]
            self.assertIn("double_tree", texts)

    def test_usage_errors(self):
        for words, said in ((["--algorithms", "rign"], "did you mean ring"), (["--collective", "allreduce"], "all_reduce"),
                            (["--ranks", "9999"], "64 GPUs"), (["--sizes", "1Q"], "1Q"), (["--from", "nonsense"], "nonsense"),
                            (["--algorithms", "one_shot"], "maps the memory")):
            done = run("peal-sim", *words)
            self.assertNotEqual(done.returncode, 0, words)
            self.assertIn(said, done.stderr)


if __name__ == "__main__":
    main()
