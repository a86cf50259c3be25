"""The extension dpreduce._core, built by CMake; all else stands in pyproject.toml."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import setuptools
from setuptools.command.build_ext import build_ext

ROOT = pathlib.Path(__file__).resolve().parent


class CMakeBuild(build_ext):
    def build_extension(self, ext):
        folder = pathlib.Path(self.build_temp).resolve()
        subprocess.run(["cmake", "-S", ROOT, "-B", folder, "-DCMAKE_BUILD_TYPE=Release", "-DBUILD_TESTING=OFF",
                        "-DDPREDUCE_BENCHMARKS=OFF", "-DDPREDUCE_EXAMPLES=OFF", "-DDPREDUCE_PYTHON=ON",
                        f"-DPython3_EXECUTABLE={sys.executable}"], check=True)
        subprocess.run(["cmake", "--build", folder, "--target", "dpreduce_core", "--parallel", str(os.cpu_count() or 1)], check=True)
        built, = (folder / "python" / "dpreduce").glob("_core.*.so")
        target = pathlib.Path(self.get_ext_fullpath(ext.name))
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(built, target)


version = re.search(r"project\(dpreduce VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))[1]
setuptools.setup(version=version, ext_modules=[setuptools.Extension("dpreduce._core", sources=[])], cmdclass={"build_ext": CMakeBuild})
