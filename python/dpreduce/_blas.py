"""The kernels of OpenBLAS, which solves what noise has made public: the same as the program takes."""
import os
import sys


def choose_kernels():
    """Sets OPENBLAS_CORETYPE as launch/environment does, where it is not set and NumPy has not loaded OpenBLAS yet: OpenBLAS
    takes slow kernels on processors younger than itself, and kernels round differently."""
    if os.environ.get("OPENBLAS_CORETYPE") or "numpy" in sys.modules:
        return
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            flags = next((line.split() for line in file if line.startswith("flags")), [])
    except OSError:
        return
    kernels = "SkylakeX" if "avx512vl" in flags else "Haswell" if "avx2" in flags else ""
    if kernels:
        os.environ["OPENBLAS_CORETYPE"] = kernels
