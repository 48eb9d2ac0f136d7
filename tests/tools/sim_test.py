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

    def test_few_ranks_that_stand_for_all_take_the_time_of_all(self):
        for machine in ("host:8 dgx-h100", "host:16 package:2 numa:1 switch:1 gpu:2 nic:1", "host:4 package:2 core:4"):
            for collective in ("all_reduce", "all_gather", "reduce_scatter", "barrier"):
                words = ["--from", machine, "--collective", collective, "--sizes", "8,1M,64M"]
                few, every = rows(*words), rows(*words, "--whole")
                self.assertEqual(len(few), len(every))
                self.assertTrue(any(row["simulated_ranks"] < row["ranks"] for row in few), machine)
                for one, other in zip(few, every):
                    self.assertEqual(other["simulated_ranks"], other["ranks"])
                    self.assertAlmostEqual(one["time_us"] / other["time_us"], 1, delta=1e-9, msg=str(one))
                    self.assertAlmostEqual(one["busiest_share"], other["busiest_share"], delta=1e-6, msg=str(one))

    def test_placements(self):
        words = ["--from", "host:4 package:2 numa:1 switch:1 gpu:2 nic:1", "--algorithms", "ring", "--sizes", "1G"]
        block, = rows(*words)
        for place in ("interleaved", "random:3"):
            other, = rows(*words, "--place", place)
            self.assertEqual(other["simulated_ranks"], 16)
            # Rings follow the hosts that ranks are on, so that each wire between two hosts is used once.
            self.assertLess(other["time_us"] / block["time_us"], 2, place)
        self.assertEqual(rows(*words, "--place", "random:3"), rows(*words, "--place", "random:3"))

    def test_explain_leads_along_the_ring(self):
        row, = rows("--from", "host:16 dgx-h100", "--algorithms", "ring", "--sizes", "1M", "--explain")
        stretches = [(block["times"], stretch) for block in row["path"] for stretch in block["stretches"]]
        self.assertEqual(sum(times * stretch["messages"] for times, stretch in stretches), 2 * 127)
        self.assertEqual({(stretch["kind"], stretch["messages"]) for times, stretch in stretches if times > 1},
                         {("NET", 1), ("NVLINK", 7)})
        for part in ("latency_ns", "transfer_ns", "queue_ns"):
            self.assertAlmostEqual(sum(stretch[part] for _, stretch in stretches), row["critical_path"][part], places=3)
        done = run("peal-sim", "--from", "host:16 dgx-h100", "--algorithms", "ring", "--sizes", "1M", "--explain")
        self.assertIn("times, each:", done.stdout)

    def test_ranges_of_sizes(self):
        words = ["--from", "dgx-h100", "--algorithms", "ring", "--sizes"]
        self.assertEqual([row["size"] for row in rows(*words, "8:64")], [8, 16, 32, 64])
        self.assertEqual([row["size"] for row in rows(*words, "8:1K:8,1K,2K")], [8, 64, 512, 1024, 2048])

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
                            (["--algorithms", "one_shot"], "maps the memory"), (["--sizes", "64:8"], "LOW <= HIGH"),
                            (["--place", "random:x"], "random:SEED")):
            done = run("peal-sim", *words)
            self.assertNotEqual(done.returncode, 0, words)
            self.assertIn(said, done.stderr)


if __name__ == "__main__":
    main()
