"""The *_perf programs: every collective, the contract of flags, columns and exit codes."""
import json
import os
import re
import tempfile
import unittest
import xml.etree.ElementTree

from programs import BIN, main, run

PROGRAMS = ("all_reduce all_gather reduce_scatter broadcast reduce alltoall alltoallv gather scatter sendrecv "
            "barrier").split()
QUICK = ("-n", "2", "-w", "0")


def perf(collective, *flags, **more):
    return run(f"{collective}_perf", *flags, **more)


class Results(unittest.TestCase):
    def check_table(self, done, what):
        self.assertEqual(done.returncode, 0, f"{what}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
        self.assertIn("# Out of bounds values : 0 OK", done.stdout, what)
        self.assertRegex(done.stdout, r"# Avg bus bandwidth\s+: \d", what)

    def test_every_collective_on_processes_and_threads(self):
        for collective in PROGRAMS:
            for ranks in (1, 2, 3, 5):
                self.check_table(perf(collective, *QUICK, "--ranks", ranks, "-b", "8", "-e", "64K", "-f", "16"),
                                 (collective, ranks))
            self.check_table(perf(collective, *QUICK, "-t", "3", "-b", "8", "-e", "64K", "-f", "16", "-d", "half"),
                             (collective, "threads"))

    def test_every_type_and_operation(self):
        done = perf("all_reduce", *QUICK, "--ranks", "3", "-b", "40", "-e", "4000", "-f", "10", "-d", "all", "-o", "all")
        self.check_table(done, "all")
        rows = [line.split() for line in done.stdout.splitlines() if not line.startswith("#")]
        self.assertEqual(len({(row[2], row[3]) for row in rows}), 14 * 6)

    def test_every_transport(self):
        for transport in ("shm", "tcp", "ucx"):
            for collective in ("all_reduce", "alltoall", "sendrecv"):
                done = perf(collective, *QUICK, "--ranks", "3", "-b", "8", "-e", "1M", "-f", "32",
                            settings={"PEAL_TRANSPORT": transport})
                if transport == "ucx" and "Valid:" in done.stderr:
                    print("skipped: this build has no ucx")
                    continue
                self.check_table(done, (transport, collective))
                self.assertIn(f", {transport}" if collective != "sendrecv" else transport, done.stdout)

    def test_a_mixed_job_of_threads_and_processes(self):
        self.check_table(perf("all_reduce", *QUICK, "--ranks", "2", "-t", "2", "-b", "8", "-e", "64K", "-f", "8"), "mixed")

    def test_more_ranks_than_cores(self):
        self.check_table(perf("all_reduce", *QUICK, "--ranks", "8", "-b", "8", "-e", "1M", "-f", "8"), "8 ranks")

    def test_all_roots(self):
        done = perf("broadcast", *QUICK, "--ranks", "3", "-r", "-1", "-b", "1K", "-e", "1K")
        self.check_table(done, "roots")
        rows = [line.split() for line in done.stdout.splitlines() if not line.startswith("#")]
        self.assertEqual([row[4] for row in rows], ["0", "1", "2"])

    def test_odd_options_together(self):
        done = perf("all_reduce", *QUICK, "--ranks", "2", "-b", "64K", "-e", "64K", "-m", "3", "-z", "1", "-u", "3", "-C",
                    "-S", "1", "-I", "-M", "--isolated", "--fresh", "-a", "3", "-N", "2", "-c", "2", "-T", "60")
        self.check_table(done, "odd")
        self.assertIn("median", done.stdout)
        self.assertIn("Peak resident memory", done.stdout)

    def test_symmetric_memory(self):
        self.check_table(perf("all_reduce", *QUICK, "--ranks", "3", "-R", "2", "-b", "8", "-e", "1M", "-f", "16"), "-R 2")

    def test_the_algorithm_shown_is_the_one_taken(self):
        done = perf("all_reduce", *QUICK, "--ranks", "2", "-R", "2", "-b", "64K", "-e", "64K", "--json")
        row = json.loads(done.stdout)["rows"][0]
        self.assertEqual((row["out_of_place"]["algorithm"], row["in_place"]["algorithm"]), ("push", "push"))
        forced = perf("alltoallv", *QUICK, "--ranks", "2", "-b", "64K", "-e", "64K", "--json",
                      settings={"PEAL_ALGO": "all_to_all:pairwise"})
        self.assertEqual(json.loads(forced.stdout)["rows"][0]["algorithm"], "pairwise")

    def test_bandwidth_of_caches_is_noted(self):
        def noted(*flags):
            done = perf("all_reduce", *QUICK, "--ranks", "2", "-c", "0", *flags)
            return "all buffers fit in the caches" in done.stdout
        facts = json.loads(run("peal-info", "--json").stdout)
        if "last-level cache" not in facts["machine"]:
            self.skipTest("this machine's caches are not known")
        self.assertFalse(noted("-b", "8", "-e", "64K", "-f", "8192"))
        self.assertTrue(noted("-b", "1M", "-e", "1M"))
        self.assertFalse(noted("-b", "1M", "-e", "1M", "--fresh"))

    def test_unchecked_is_not_available(self):
        done = perf("all_reduce", *QUICK, "--ranks", "2", "-b", "8", "-e", "8", "-c", "0")
        self.assertEqual(done.returncode, 0)
        self.assertIn("N/A", done.stdout)
        self.assertNotIn("Out of bounds", done.stdout)

    def test_columns(self):
        done = perf("all_gather", *QUICK, "--ranks", "2", "-b", "1000", "-e", "1000")
        row = [line for line in done.stdout.splitlines() if not line.startswith("#")][0].split()
        self.assertEqual(row[:5], ["1000", "125", "float", "none", "-1"])
        time_us, algbw, busbw = float(row[5]), float(row[6]), float(row[7])
        # Both are printed with three digits behind the point.
        self.assertAlmostEqual(algbw, 1000 / time_us / 1e3, delta=0.0006 * (1 + algbw / time_us))
        self.assertAlmostEqual(busbw, algbw / 2, delta=0.0011)


class Machine(unittest.TestCase):
    def test_json_and_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "result.json")
            done = perf("all_reduce", *QUICK, "--ranks", "2", "-b", "8", "-e", "8K", "-f", "32", "--json", "-J", path)
            self.assertEqual(done.returncode, 0, done.stderr)
            result = json.loads(done.stdout)
            with open(path) as file:
                self.assertEqual(result, json.load(file))
        self.assertEqual([row["size"] for row in result["rows"]], [8, 256, 8192])
        place = result["rows"][0]["in_place"]
        self.assertLessEqual(place["min_us"], place["median_us"])
        self.assertLessEqual(place["p99_us"], place["max_us"])
        self.assertEqual(place["wrong"], 0)

    def test_csv(self):
        done = perf("reduce", *QUICK, "--ranks", "2", "-b", "8", "-e", "8", "--csv")
        lines = done.stdout.splitlines()
        self.assertEqual(lines[0].split(",")[0], "size")
        self.assertEqual(len(lines), 3)
        self.assertTrue(all(line.count(",") == lines[0].count(",") for line in lines))

    def test_plot_is_well_formed(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "plot.svg")
            done = perf("all_reduce", *QUICK, "--ranks", "2", "-b", "8", "-e", "8K", "-f", "8", "--plot", path)
            self.assertEqual(done.returncode, 0, done.stderr)
            drawing = xml.etree.ElementTree.parse(path).getroot()
        curves = drawing.findall("{http://www.w3.org/2000/svg}path")
        self.assertEqual(len(curves), 4)
        self.assertFalse(re.search("nan|inf", "".join(curve.get("d") for curve in curves)))


class Errors(unittest.TestCase):
    def test_invalid_usage_is_6_and_says_what(self):
        for flags, said in ((["--nonsense"], "nonsense"), (["-b", "8M", "-e", "4M"], "minbytes"), (["-b", "five"], "five"),
                            (["-d", "flaot"], "flaot"), (["-o", "plus"], "plus"), (["-g", "2"], "2"),
                            (["-f", "1"], "stepfactor"), (["-n", "0"], "0"), (["--json", "--csv"], "json"),
                            (["--plot"], "plot")):
            done = perf("all_reduce", *flags)
            self.assertEqual(done.returncode, 6, flags)
            self.assertIn(said, done.stderr, flags)

    def test_bad_settings_are_6(self):
        for settings, said in (({"PEAL_TRANSPORT": "smh"}, "did you mean shm"), ({"PEAL_ALGO": "all_reduce:rign"}, "ring"),
                               ({"PEAL_CHANNELS": "many"}, "PEAL_CHANNELS"), ({"PEAL_DEBUG": "LOUD"}, "LOUD")):
            done = perf("all_reduce", "--ranks", "2", "-b", "8", "-e", "8", settings=settings)
            self.assertEqual(done.returncode, 6, (settings, done.stderr))
            self.assertIn(said, done.stderr)

    def test_a_root_beyond_the_ranks(self):
        done = perf("broadcast", "--ranks", "2", "-r", "2", "-b", "8", "-e", "8")
        self.assertEqual(done.returncode, 6)
        self.assertIn("ranks are 0 to 1", done.stderr)

    def test_files_that_cannot_be_written_are_told_before_measuring(self):
        for option in ("-J", "--plot"):
            done = perf("all_reduce", "--ranks", "2", option, "/no/such/folder/file")
            self.assertEqual(done.returncode, 6)
            self.assertIn("'/no/such/folder/file': No such file or directory", done.stderr)
            self.assertEqual(done.stdout, "")

    def test_more_memory_than_there_is(self):
        done = perf("all_reduce", "--ranks", "4", "-e", "1000G")
        self.assertEqual(done.returncode, 6)
        self.assertRegex(done.stderr, r"4 rank\(s\) need 12000\.0 GiB of memory, .* are available")

    def test_ranks_that_a_launcher_started_are_not_started_again(self):
        program = str(BIN / "all_reduce_perf")
        done = run("peal-run", "-n", "2", program, *QUICK, "--ranks", "2", "-b", "8", "-e", "8")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(" 2 ranks", done.stdout)
        done = run("peal-run", "-n", "2", program, *QUICK, "--ranks", "3")
        self.assertEqual(done.returncode, 6)
        self.assertIn("--ranks 3 in a job that PEAL_* says has 2 ranks", done.stderr)

    def test_below_the_required_bandwidth_is_7(self):
        done = perf("all_reduce", *QUICK, "--ranks", "2", "-b", "8", "-e", "8", "--min_busbw", "1e9")
        self.assertEqual(done.returncode, 7)

    def test_a_broken_connection_is_1_and_named(self):
        done = perf("all_reduce", *QUICK, "--ranks", "2", "-b", "64K", "-e", "64K",
                    settings={"PEAL_TRANSPORT": "faulty:tcp", "PEAL_FAULT": "fail_after=100000"})
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"rank \d \(host .*, pid \d+\).*injected fault.*all_reduce")

    def test_a_timeout_is_4(self):
        self.assertEqual(perf("all_reduce", "--ranks", "2", "-b", "8", "-e", "8", "-N", "0", "-T", "1").returncode, 4)

    def test_a_peer_that_never_comes_is_named(self):
        done = perf("all_reduce", settings={"PEAL_RANK": "0", "PEAL_SIZE": "3", "PEAL_ROOT": "unix:peal-test-nobody",
                                            "PEAL_CONNECT_TIMEOUT": "500"})
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertRegex(done.stderr, r"rank.*1.*2")

    def test_a_misspelt_variable_is_reported(self):
        done = perf("all_reduce", *QUICK, "-b", "8", "-e", "8", settings={"PEAL_TIMOUT": "5"})
        self.assertEqual(done.returncode, 0)
        self.assertIn("did you mean PEAL_TIMEOUT?", done.stderr)

    def test_help_and_version(self):
        done = perf("all_reduce", "--help")
        self.assertEqual(done.returncode, 0)
        for flag in "-b -e -i -f -n -w -m -N -c -o -d -r -t -g -z -a -T -C -S -J -I -R -u -M".split():
            self.assertIn(f"  {flag},", done.stdout)
        self.assertEqual(perf("all_reduce", "--version").returncode, 0)


if __name__ == "__main__":
    main()
