"""The machine that figures of a page are measured on, and the program that they are of."""
import json
import os
import subprocess

from page_part import ROOT

PROGRAM = os.path.abspath(os.environ.get("DPREDUCE", os.path.join(ROOT, "build/release/dpreduce")))


def bench_beside(program):
    """The program that measures parts, of the same build."""
    return os.path.join(os.path.dirname(os.path.abspath(program)), "bench/dpreduce_bench")


def machine(program):
    """Its processor, and the kernels that `program` chooses on it."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        models = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    told = subprocess.run([bench_beside(program), *"gram --rows 256 --dim 64 --format json".split()], check=True, capture_output=True, text=True)
    return f"{os.sysconf('SC_NPROCESSORS_ONLN')} cores of {models[0] if models else 'an unknown processor'} (products: {json.loads(told.stdout)['kernel']})"


def machine_with_load(program):
    load = os.getloadavg()[0]
    return f"{machine(program)}, load {load:.1f} when it began"
