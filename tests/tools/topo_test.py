"""peal-topo: what it shows of machines, in text, JSON and pictures."""
import json
import os
import pathlib
import tempfile
import unittest
import xml.etree.ElementTree as xml

from programs import main, run


class Topo(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def file(self, name, text=None):
        path = pathlib.Path(self.folder.name) / name
        if text is not None:
            path.write_text(text)
        return path

    def show(self, *words, **more):
        done = run("peal-topo", *words, **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def test_this_machine(self):
        out = self.show().stdout
        self.assertRegex(out, r"(?m)^host ")
        self.assertRegex(out, r"core")
        self.assertIn("from ", out)

    def test_a_described_machine(self):
        out = self.show("--from", "package:2 numa:1(memory=64GB) l3:1(size=32MB) core:4 pu:2 gpu:2 nic:1").stdout
        for words in ("NUMA node 1, 64 GiB", "L3 cache, 32 MiB", "cores 4-7  processors 8-15", "GPU 3", "NIC1", "PHB", "SYS"):
            self.assertIn(words, out)

    def test_rings_and_their_bound(self):
        out = self.show("--from", "dgx-1v", "--rings").stdout
        self.assertIn("6 rings, together 150 GB/s; at most 150: GPU 0's 6 links of 25 GB/s", out)
        self.assertEqual(out.count("in and out by NIC"), 6)
        self.assertIn("tree 2", self.show("--from", "dgx-1v", "--trees").stdout)
        self.assertIn("rail 7: 50 GB/s", self.show("--from", "host:4 dgx-h100", "--rings").stdout)

    def test_json(self):
        all_of_it = json.loads(self.show("--from", "package:2 gpu:2 nic:1", "--json").stdout)
        self.assertEqual(sorted(all_of_it["rings"][0]["order"]), [0, 1, 2, 3])
        kinds = [hop["kind"] for hop in all_of_it["rings"][0]["hops"]]
        self.assertEqual(sorted(kinds), ["PHB", "PHB", "SYS", "SYS"])
        self.assertEqual([(hop["from"], hop["to"]) for hop in all_of_it["rings"][0]["hops"]],
                         list(zip(all_of_it["rings"][0]["order"], all_of_it["rings"][0]["order"][1:] + all_of_it["rings"][0]["order"][:1])))
        self.assertGreater(all_of_it["bound"], 0)
        self.assertEqual(all_of_it["warnings"], [])
        self.assertEqual(all_of_it["nearest_nics"], [0, 0, 1, 1])
        self.assertIn("cluster", json.loads(self.show("--from", "host:2 dgx-a100", "--json").stdout))

    def test_what_is_converted_is_the_same_machine(self):
        path = self.file("machine.json")
        self.show("--from", "host:2 dgx-a100", "--convert", path)
        first, second = (json.loads(self.show("--from", which, "--json").stdout) for which in ("host:2 dgx-a100", path))
        self.assertEqual(first, second)
        self.assertEqual(self.show("--from", path, "--convert", "-").stdout, path.read_text())
        self.assertIn("2 hosts alike", self.show(settings={"PEAL_TOPO_FILE": str(path)}).stdout)

    def test_pictures_are_well_formed_and_name_what_is_there(self):
        for machine in ("dgx-1v", "host:8 dgx-h100", "package:2 numa:4 l3:2 core:8 pu:2", "gpu:1", "core:1", "package:2 gpu:8 nic:1"):
            path = self.file("machine.svg")
            self.show("--from", machine, "--draw", path)
            texts = [element.text or "" for element in xml.parse(path).iter("{http://www.w3.org/2000/svg}text")]
            if "gpu" in machine or "dgx" in machine:
                self.assertIn("GPU 0", texts, machine)
        self.show("--draw", path)
        xml.parse(path)

    def test_names_can_hold_anything(self):
        evil = {"peal_machine": 1, "hosts": [{"names": ["<script>&\"'\u0001"], "objects": [
            {"kind": "host"}, {"kind": "gpu", "parent": 0, "name": "]]><b>"}, {"kind": "gpu", "parent": 0}]}]}
        path, picture = self.file("evil.json", json.dumps(evil)), self.file("evil.svg")
        self.show("--from", path, "--draw", picture)
        xml.parse(picture)
        json.loads(self.show("--from", path, "--json").stdout)

    def test_warnings_name_object_and_line_and_stop_nothing(self):
        path = self.file("lies.xml", '<system version="1">\n<cpu numaid="0" affinity="ff">\n'
                         '<pci busid="0000:01:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">\n'
                         '<gpu dev="0" sm="80"><nvlink target="0000:01:00.0" count="12" tclass="0x030200"/></gpu></pci>\n'
                         '<pci busid="0000:02:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16"/>\n</cpu></system>\n')
        done = self.show("--from", path, "--rings")
        self.assertIn("line 4: GPU 0 (0000:01:00.0) is linked to itself", done.stderr)
        self.assertIn("0 PHB 1 PHB 0", done.stdout)

    def test_what_cant_be_read_is_one_line(self):
        for name, text, said in (("a.xml", '<topology version="3.0"></topology>', "version 1 or 2, found 3.0"),
                                 ("b.xml", '<topology version="2.0"><object type="Machine">', "line"),
                                 ("c.xml", '<!DOCTYPE x [<!ENTITY a "b">]><topology/>', "entities"), ("d", "\x7fELF\x01", "found '\\x7fELF"),
                                 ("e.json", '{"peal_machine": 1, "hosts": []}', "/hosts: expected at least one host"),
                                 ("f.json", '{"peal_machine": 1', "expected JSON")):
            done = run("peal-topo", "--from", self.file(name, text))
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            self.assertIn(said, done.stderr)
            self.assertIn(name, done.stderr)

    def test_files_that_never_end_or_are_too_large(self):
        for path in ("/dev/zero", self.folder.name, "/no/such/file"):
            done = run("peal-topo", "--from", path)
            self.assertNotEqual(done.returncode, 0)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        fifo = self.file("fifo")
        os.mkfifo(fifo)
        self.assertIn("expected a file", run("peal-topo", "--from", fifo, timeout=20).stderr)
        large = self.file("large")
        with open(large, "wb") as file:
            file.truncate(1 << 30)
        self.assertIn("expected at most 64 MiB", run("peal-topo", "--from", large, timeout=60).stderr)

    def test_usage_errors(self):
        for words, said in ((["--nonsense"], "nonsense"), (["--from", "package:2 gpux:1"], "position 11"), (["--ranks", "2"], "--measure"),
                            (["--place", "0"], "1"), (["--from", "host:99999"], "at most 16384 hosts")):
            done = run("peal-topo", *words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn(said, done.stderr)
        self.assertEqual(run("peal-topo", "--help").returncode, 0)
        self.assertRegex(run("peal-topo", "--version").stdout, r"^0\.1\.0")

    def test_places(self):
        out = self.show("--from", "package:2 core:2", "--place", "4").stdout
        self.assertIn("ring order and groups: 0 1 | 2 3, by package", out)

    def test_measured_figures_are_kept_and_used(self):
        path = self.file("measured.json")
        self.show("--measure", "--ranks", "2", "--convert", path, settings={"PEAL_TRANSPORT": "shm"})
        machine = json.loads(path.read_text())
        self.assertEqual(len(machine["measurements"]), 2)
        for one in machine["measurements"]:
            self.assertEqual(one["transport"], "shm")
            self.assertGreater(one["latency_ns"], 0)
            self.assertGreater(one["bytes_per_ns"], 0)
        self.assertEqual(machine["processor"]["copy_bytes_per_ns"]["source"], "measured")
        shown = run("peal-info", "--explain", "all_reduce", "1M", "--ranks", "2", settings={"PEAL_TOPO_FILE": str(path)}).stdout
        self.assertIn(f"{machine['measurements'][0]['latency_ns'] / 1e3:.3g} us", shown)
        job = run("all_reduce_perf", "--ranks", "2", "-b", "8", "-e", "8", "-n", "2", settings={"PEAL_TOPO_FILE": str(path)})
        self.assertEqual(job.returncode, 0, job.stderr)


if __name__ == "__main__":
    main()
