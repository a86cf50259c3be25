"""The extension dpreduce._core, built by CMake, and the libraries that it is linked with; all else stands in pyproject.toml.

DPREDUCE_BUILD names a folder that CMake has configured, such as build/release; without it one is made."""
import hashlib
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys

import setuptools
from setuptools.command.build_ext import build_ext

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # before setuptools 70.1
    from wheel.bdist_wheel import bdist_wheel

ROOT = pathlib.Path(__file__).resolve().parent
# Of the C library and the compiler's run time, which every process has one of; MPI is the machine's (_mpi.so asks for it).
OF_THE_SYSTEM = re.compile(r"(ld-linux.*|lib(c|m|dl|rt|pthread|resolv|util|gcc_s|stdc\+\+|mpi))\.so\..*")


def call(*words):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout


def needed(binary):
    return [name for name in call("patchelf", "--print-needed", binary).split() if not OF_THE_SYSTEM.fullmatch(name)]


def bring_libraries(binaries, folder):
    """Copies what the binaries need into `folder` below them, under names that no other package's libraries have: a process
    loads one library of a name, and others would get ours, or we theirs."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    names = {}  # as linked -> as brought

    def bring(name, found):
        if name in names:
            return
        path = pathlib.Path(found[name]).resolve()
        stem, end = name.split(".so", 1)
        names[name] = f"{stem}-{hashlib.sha256(path.read_bytes()).hexdigest()[:8]}.so{end}"
        shutil.copy(path, folder / names[name])
        for other in needed(path):
            bring(other, found)

    for binary in binaries:
        found = dict(re.findall(r"^\s*(\S+) => (/\S+)", call("ldd", binary), re.MULTILINE))
        for name in needed(binary):
            bring(name, found)
    for binary in [*binaries, *(folder / name for name in names.values())]:
        os.chmod(binary, 0o755)
        is_ours = binary in binaries
        if is_ours:
            call("strip", "--strip-unneeded", binary)
        else:
            call("patchelf", "--set-soname", binary.name, binary)  # alone: patchelf 0.14 takes its word for other options' too
        call("patchelf", "--set-rpath", "$ORIGIN/libraries" if is_ours else "$ORIGIN", binary)
        changes = [word for name in needed(binary) for word in ("--replace-needed", name, names[name])]
        if changes:
            call("patchelf", *changes, binary)


class CMakeBuild(build_ext):
    def build_extension(self, ext):
        if shutil.which("patchelf") is None:
            sys.exit("dpreduce: patchelf is missing, by which a wheel finds the libraries that it brings; apt-get install patchelf, or "
                     "launch/install-dependencies package, which installs all that the build needs")
        folder = pathlib.Path(os.environ.get("DPREDUCE_BUILD", self.build_temp)).resolve()
        if "DPREDUCE_BUILD" not in os.environ:
            subprocess.run(["cmake", "-S", ROOT, "-B", folder, "-DCMAKE_BUILD_TYPE=Release", "-DBUILD_TESTING=OFF",
                            "-DDPREDUCE_BENCHMARKS=OFF", "-DDPREDUCE_EXAMPLES=OFF", "-DDPREDUCE_PYTHON=ON",
                            f"-DPython3_EXECUTABLE={sys.executable}"], check=True)
        subprocess.run(["cmake", "--build", folder, "--target", "dpreduce_wheel", "--parallel", str(os.cpu_count() or 1)], check=True)
        core, = (folder / "wheel").glob("_core.*.so")
        target = pathlib.Path(self.get_ext_fullpath(ext.name))
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(core, target)
        shutil.copy(folder / "wheel" / "_mpi.so", target.parent)
        bring_libraries([target, target.parent / "_mpi.so"], target.parent / "libraries")


class Wheel(bdist_wheel):
    """For the oldest C library that has all symbols which the wheel's files ask for."""

    def get_tag(self):
        python, abi, _ = super().get_tag()
        files = (pathlib.Path(self.get_finalized_command("build").build_lib) / "dpreduce").rglob("*.so*")
        symbols = "".join(call("objdump", "-T", file) for file in files)
        major, minor = max((int(major), int(minor)) for major, minor in re.findall(r"GLIBC_(\d+)\.(\d+)", symbols))
        return python, abi, f"manylinux_{major}_{minor}_{platform.machine()}"


def numpy_needed():
    """Before 2.12 pybind11 reads NumPy's types as NumPy 1 lays them out."""
    is_recent = shutil.which("pkg-config") and subprocess.run(["pkg-config", "--atleast-version=2.12", "pybind11"], check=False).returncode == 0
    return "numpy" if is_recent else "numpy<2"


version = re.search(r"project\(dpreduce VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))[1]
setuptools.setup(version=version, ext_modules=[setuptools.Extension("dpreduce._core", sources=[])], install_requires=[numpy_needed()],
                 cmdclass={"build_ext": CMakeBuild, "bdist_wheel": Wheel})
