"""Where ranks are decides rings and groups: two network namespaces stand for two hosts, a machine file for sockets."""
import contextlib
import itertools
import json
import os
import re
import subprocess
import tempfile
import unittest

from programs import BIN, main, run

PROCESSORS = sorted(os.sched_getaffinity(0))
PORT = 20100  # free: the namespaces are new


def reason_for_no_namespaces():
    """None where this process may make network namespaces and connect them."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    name = f"peal-try-{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True)
    if made.returncode == 0:
        subprocess.run(["ip", "netns", "delete", name], check=True)
        return None
    return f"ip netns add: {made.stderr.strip()}"


@contextlib.contextmanager
def two_hosts():
    """Two network namespaces with a cable between them: their names; the first one's address is 10.97.0.1."""
    names = [f"peal-{end}-{os.getpid()}" for end in "ab"]

    def ip(*words):
        subprocess.run(["ip", *words], check=True, capture_output=True, text=True)

    try:
        for name in names:
            ip("netns", "add", name)
        ip("link", "add", "cable", "netns", names[0], "type", "veth", "peer", "name", "cable", "netns", names[1])
        for number, name in enumerate(names, 1):
            ip("-n", name, "addr", "add", f"10.97.0.{number}/24", "dev", "cable")
            ip("-n", name, "link", "set", "cable", "up")
            ip("-n", name, "link", "set", "lo", "up")
        yield names
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "delete", name], capture_output=True)


def job(commands, settings):
    """One process for each rank: its exit code, standard output and error, in rank order. A setting may be a list, by rank."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PEAL_")}
    started = []
    for rank, command in enumerate(commands):
        mine = {name: value if isinstance(value, str) else value[rank] for name, value in settings.items()}
        own = {"PEAL_RANK": str(rank), "PEAL_SIZE": str(len(commands)), "PEAL_KEY": "of this test"}
        started.append(subprocess.Popen(command, env={**clean, **own, **mine}, text=True, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE))
    try:
        return [(*process.communicate(timeout=120), process.returncode)[::-1] for process in started]
    finally:
        for process in started:
            process.kill()
            process.wait()


def perf(*options):
    return [str(BIN / "all_reduce_perf"), "-b", "8", "-e", "64K", "-f", "64", "-n", "3", "-w", "1", *options]


class OnHosts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if reason := reason_for_no_namespaces():
            raise unittest.SkipTest(reason)

    def check(self, hosts, expected, **settings):
        """`hosts`: 'aabb', where rank i is on host hosts[i]. Every rank says `expected`, and the sums are right."""
        with two_hosts() as names:
            commands = [["ip", "netns", "exec", names["ab".index(host)], *perf()] for host in hosts]
            ranks = job(commands, {"PEAL_DEBUG": "INFO", "PEAL_ROOT": f"10.97.0.1:{PORT}", **settings})
        for code, errors, output in ranks:
            self.assertEqual(code, 0, errors)
            self.assertIn(f"ring order and groups: {expected}\n", errors)
        self.assertRegex(ranks[0][2], r"Out of bounds values : 0 OK")

    def test_blocks(self):
        self.check("aabb", "0 1 | 2 3, by host")
        self.check("aaaabbbb", "0 1 2 3 | 4 5 6 7, by host")

    def test_interleaved(self):
        self.check("abab", "0 2 | 1 3, by host")
        self.check("abababab", "0 2 4 6 | 1 3 5 7, by host")

    def test_uneven(self):
        self.check("aaab", "0 1 2 | 3, by host")
        self.check("abaa", "0 2 3 | 1, by host")
        self.check("abbbabbb", "0 4 | 1 2 3 5 6 7, by host")

    def test_one_rank_a_host(self):
        self.check("ab", "0 | 1, by host")

    def test_every_algorithm_in_every_placement(self):
        for hosts in ("aabb", "abab", "aaab"):
            for algorithm in ("hierarchical", "hierarchical_doubling", "ring", "double_tree"):
                with self.subTest(hosts=hosts, algorithm=algorithm):
                    expected = {"aabb": "0 1 | 2 3", "abab": "0 2 | 1 3", "aaab": "0 1 2 | 3"}[hosts] + ", by host"
                    self.check(hosts, expected, PEAL_ALGO=f"all_reduce:{algorithm}")

    def test_the_users_own_order(self):
        self.check("aabb", "3 2 | 1 0, by host", PEAL_RING_ORDER="3,2,1,0")


class OnOneHost(unittest.TestCase):
    def start(self, ranks, **settings):
        root = f"unix:peal-placement-{os.getpid()}-{next(self.numbers)}"
        return job([perf()] * ranks, {"PEAL_DEBUG": "INFO", "PEAL_ROOT": root, **settings})

    numbers = itertools.count()

    def check(self, ranks, expected, **settings):
        for code, errors, _ in self.start(ranks, **settings):
            self.assertEqual(code, 0, errors)
            self.assertIn(f"ring order and groups: {expected}\n", errors)

    def test_one_shared_machine(self):
        for ranks in (4, 8):
            self.check(ranks, " ".join(map(str, range(ranks))))

    @unittest.skipIf(len(PROCESSORS) < 2, "one processor: nothing to tell ranks apart")
    def test_sockets_of_a_machine_file(self):
        near, far = PROCESSORS[0], PROCESSORS[-1]
        machine = {"peal_machine": 1, "hosts": [{"objects": [
            {"kind": "host", "cpus": f"{near},{far}"},
            {"kind": "package", "parent": 0, "number": 0, "cpus": str(near)},
            {"kind": "package", "parent": 0, "number": 1, "cpus": str(far)}]}]}
        for places, expected in (([near, near, far, far], "0 1 | 2 3"), ([near, far] * 2, "0 2 | 1 3"),
                                 ([near, far, near, near], "0 2 3 | 1"), ([far, near] * 4, "1 3 5 7 | 0 2 4 6")):
            with self.subTest(places=places), tempfile.NamedTemporaryFile("w", suffix=".json") as file:
                json.dump(machine, file)
                file.flush()
                commands = [["taskset", "-c", str(place), *perf()] for place in places]
                root = f"unix:peal-placement-{os.getpid()}-{next(self.numbers)}"
                ranks = job(commands, {"PEAL_DEBUG": "INFO", "PEAL_ROOT": root, "PEAL_TOPO_FILE": file.name})
                for code, errors, output in ranks:
                    self.assertEqual(code, 0, errors)
                    self.assertIn(f"ring order and groups: {expected}, by package\n", errors)
                self.assertRegex(ranks[0][2], r"Out of bounds values : 0 OK")

    def test_the_users_own_order(self):
        self.check(4, "3 1 0 2", PEAL_RING_ORDER="3,1,0,2")
        self.check(4, "3 1 0 2", PEAL_RING_ORDER="3 1 0 2")

    def test_a_wrong_order_is_an_error_on_all_ranks(self):
        for order, said in (("0,1,2", "found 3 ranks"), ("0,1,2,2", "2"), ("0,1,2,7", "7"), ("zero", "zero")):
            for code, errors, _ in self.start(4, PEAL_RING_ORDER=order):
                self.assertNotEqual(code, 0)
                self.assertRegex(errors, "PEAL_RING_ORDER.*" + re.escape(said))

    def test_orders_that_differ_are_an_error_on_all_ranks(self):
        for code, errors, _ in self.start(3, PEAL_RING_ORDER=["", "", "2,1,0"]):
            self.assertNotEqual(code, 0)
            self.assertIn("PEAL_RING_ORDER must be equal on all ranks", errors)

    def test_a_file_that_cant_be_read_stops_nobody(self):
        done = run("all_reduce_perf", "--ranks", "2", "-b", "8", "-e", "8", "-n", "1",
                   settings={"PEAL_TOPO_FILE": "/no/such/file"})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.count("/no/such/file"), 1, done.stderr)


def allowed(done):
    return [line.split(":")[1].strip() for line in done.stdout.splitlines()]


class Pinned(unittest.TestCase):
    SHOW = ("sh", "-c", "grep Cpus_allowed_list /proc/self/status")

    @unittest.skipIf(len(PROCESSORS) < 2, "one processor: ranks can't be apart")
    def test_the_launcher_gives_each_rank_its_own_processors(self):
        one, two = allowed(run("peal-run", "-n", "2", "--", *self.SHOW))
        self.assertNotEqual(one, two)

    def test_not_with_more_ranks_than_cores_or_on_request(self):
        many = allowed(run("peal-run", "-n", 2 * len(PROCESSORS), "--", *self.SHOW))
        self.assertEqual(len(set(many)), 1)
        free = allowed(run("peal-run", "-n", "2", "--", *self.SHOW, settings={"PEAL_AFFINITY": "none"}))
        self.assertEqual(free, many[:2])

    def by_hand(self, commands, **settings):
        root = f"unix:peal-pinned-{os.getpid()}-{next(OnOneHost.numbers)}"
        return [errors for _, errors, _ in job(commands, {"PEAL_DEBUG": "INFO", "PEAL_ROOT": root, **settings})]

    @unittest.skipIf(len(PROCESSORS) < 2, "one processor: ranks can't be apart")
    def test_ranks_pin_themselves_where_no_launcher_did(self):
        for affinity in ("auto", "pin"):
            ranks = self.by_hand([perf()] * 2, PEAL_AFFINITY=affinity)
            said = [re.search(r"pinned to processors (.*)", errors).group(1) for errors in ranks]
            self.assertEqual(len(set(said)), 2, said)

    @unittest.skipIf(len(PROCESSORS) < 2, "one processor: ranks can't be apart")
    def test_what_the_launcher_did_stays(self):
        apart = [["taskset", "-c", str(PROCESSORS[place]), *perf()] for place in (0, -1)]
        for affinity, said in (("auto", "its processors are its own"), ("pin", "its processors are its own"),
                               ("none", "PEAL_AFFINITY=none")):
            for errors in self.by_hand(apart, PEAL_AFFINITY=affinity):
                self.assertIn(f"not pinned: {said}", errors)
        near = [["taskset", "-c", f"{PROCESSORS[0]},{PROCESSORS[-1]}", *perf()]] * 2 + apart[:1]
        for errors in self.by_hand(near, PEAL_AFFINITY="auto")[:2]:
            self.assertIn("not pinned: the launcher gave the ranks of this host different processors", errors)
        said = [re.search(r"pinned to processors (.*)", errors).group(1) for errors in self.by_hand(near, PEAL_AFFINITY="pin")[:2]]
        self.assertEqual(len(set(said)), 2, said)

    def test_nobody_is_pinned_where_cores_are_few(self):
        for errors in self.by_hand([perf()] * (len(PROCESSORS) + 1)):
            self.assertIn("not pinned: ", errors)

    def test_a_word_that_is_none(self):
        done = run("all_reduce_perf", "--ranks", "2", "-b", "8", "-e", "8", settings={"PEAL_AFFINITY": "maybe"})
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("PEAL_AFFINITY", done.stderr)


if __name__ == "__main__":
    main()
