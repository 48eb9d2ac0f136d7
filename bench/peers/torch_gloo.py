"""PyTorch's Gloo as a contestant (turns.h says how turns go). RANK and SIZE come from the environment."""
import os
import resource
import sys
import time

import torch
import torch.distributed as dist

name, folder = sys.argv[1], sys.argv[2]
rank, size = int(os.environ["RANK"]), int(os.environ["SIZE"])
torch.set_num_threads(1)
dist.init_process_group("gloo", init_method=f"file://{folder}/torch", rank=rank, world_size=size)
cores = sorted(os.sched_getaffinity(0))
os.sched_setaffinity(0, {cores[rank % len(cores)]})


def operation(collective, data, result):
    blocks = lambda tensor: list(tensor.chunk(size))
    return {
        "all_reduce": lambda: dist.all_reduce(result),
        "broadcast": lambda: dist.broadcast(data if rank == 0 else result, 0),
        "reduce": lambda: dist.reduce(result, 0),
        "all_gather": lambda: dist.all_gather(blocks(result), blocks(data)[rank]),
        "gather": lambda: dist.gather(blocks(data)[rank], blocks(result) if rank == 0 else None, 0),
        "scatter": lambda: dist.scatter(blocks(result)[rank], blocks(data) if rank == 0 else None, 0),
    }.get(collective)


def cpu_ns():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return (usage.ru_utime + usage.ru_stime) * 1e9


with open(f"{name}.{rank}") as turns, open(f"{name}.answers", "w") as answers:
    for line in turns:
        collective, kind, nbytes, place, _, buffers, touched, iterations = line.split()
        iterations, buffers = int(iterations), int(buffers)
        dtype = torch.bfloat16 if kind == "bfloat16" else torch.float32
        make = lambda: torch.zeros(int(nbytes) // dtype.itemsize if hasattr(dtype, "itemsize") else
                                   int(nbytes) // (2 if kind == "bfloat16" else 4), dtype=dtype)
        pool = [make() for _ in range(buffers)]
        results = pool if place == "in" else [make() for _ in range(buffers)]
        calls = [operation(collective, data, result) for data, result in zip(pool, results)]
        if calls[0] is None:
            answers.write(f"{rank} 0 0 absent\n")
            answers.flush()
            continue

        def loop(with_call, with_touch):
            dist.barrier()
            begin, cpu = time.perf_counter_ns(), cpu_ns()
            for i in range(iterations):
                if with_touch:
                    pool[i % buffers].fill_(i & 1)
                if with_call:
                    calls[i % buffers]()
                if with_touch:
                    results[i % buffers].sum()
            return (time.perf_counter_ns() - begin) / iterations, (cpu_ns() - cpu) / iterations

        try:
            for i in range(2):
                calls[i % buffers]()
            if touched == "1":
                alone, _ = loop(False, True)
                ns, cpu = loop(True, True)
                ns -= alone
            else:
                ns, cpu = loop(True, False)
            answers.write(f"{rank} {ns:.1f} {cpu:.1f} ok\n")
        except (RuntimeError, TypeError):  # a type that this version can't reduce
            answers.write(f"{rank} 0 0 absent\n")
        answers.flush()
