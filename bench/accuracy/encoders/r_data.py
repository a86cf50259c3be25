"""Data frames of an R package, read without R: its lazy-load database or saved files, in R's serialization format (XDR, version 2 or 3)."""
import bz2
import gzip
import lzma
import os
import struct
import subprocess
import tempfile
import zlib

NULL, REFERENCE, ALTREP, NA_STRING = 254, 255, 238, -1


class Reader:
    """R's "Serialization Formats", as far as data frames of vectors, factors and strings need it."""

    def __init__(self, stored):
        self.stored, self.place, self.references = stored, 0, []
        if self.take(2) != b"X\n":
            raise ValueError("not R's XDR serialization")
        version = self.integer()
        self.take(8)  # of R: that wrote it, and that may read it
        if version == 3:
            self.take(self.integer())

    def take(self, count):
        self.place += count
        return self.stored[self.place - count:self.place]

    def integer(self):
        return struct.unpack(">i", self.take(4))[0]

    def vector(self, code, size):
        count = self.integer()
        return list(struct.unpack(f">{count}{code}", self.take(size * count)))

    def pairs(self, flags):
        """A pairlist as a dictionary of its tags."""
        found = {}
        while flags & 255 == 2:
            if flags & 0x200:
                self.item()
            tag = self.item() if flags & 0x400 else None
            found[tag] = self.item()
            flags = self.integer()
        return found

    def item(self):
        flags = self.integer()
        kind = flags & 255
        if kind in (NULL, 253, 242, 241, 251):  # NULL, environments, missing argument
            return None
        if kind == REFERENCE:
            return self.references[(flags >> 8 or self.integer()) - 1]
        if kind == 1:
            self.references.append(self.item())
            return self.references[-1]
        if kind == 2:
            return self.pairs(flags)
        if kind == ALTREP:
            info, state, _ = self.item(), self.item(), self.item()
            return self.compact(list(info.values()) if isinstance(info, dict) else info, state)
        if kind == 9:
            length = self.integer()
            return None if length == NA_STRING else self.take(length).decode("utf-8", "replace")
        if kind in (10, 13):
            values = self.vector("i", 4)
        elif kind == 14:
            values = self.vector("d", 8)
        elif kind in (16, 19):
            values = [self.item() for _ in range(self.integer())]
        else:
            raise ValueError(f"a value of R's type {kind}, which data frames of vectors do not hold")
        attributes = self.pairs(self.integer()) if flags & 0x200 else {}
        return self.with_attributes(values, attributes)

    @staticmethod
    def compact(info, state):
        """Vectors that R keeps short: first element and step, or a wrapped vector."""
        if isinstance(state, list) and len(state) == 3 and all(isinstance(x, (int, float)) for x in state):
            count, first, step = state
            return [first + step * place for place in range(int(count))]
        return state[0] if isinstance(state, (list, tuple)) else list(state.values())[0]

    @staticmethod
    def with_attributes(values, attributes):
        if "levels" in attributes:
            return [attributes["levels"][value - 1] if value > 0 else None for value in values]
        if "names" in attributes:
            return dict(zip(attributes["names"], values))
        return values


def frame_of_package(package, folder, name):
    """The data frame of that name in a Debian package, which is not installed; R's package is `folder`."""
    with tempfile.TemporaryDirectory() as place:
        subprocess.run(["apt-get", "download", "-q", "-o", "APT::Sandbox::User=root", package], cwd=place, check=True,
                       stdout=subprocess.DEVNULL)
        subprocess.run(f"dpkg -x {package}_*.deb .", shell=True, cwd=place, check=True)
        return data_frame(f"{place}/usr/lib/R/site-library/{folder}/data", name)


def data_frame(folder, name):
    """{column: values} of the data frame of that name in an installed package's data: NAME.rda, or Rdata.{rdb,rdx}."""
    if os.path.exists(f"{folder}/{name}.rda"):
        with open(f"{folder}/{name}.rda", "rb") as saved:
            return Reader(decompressed(saved.read())[len(b"RDX2\n"):]).item()[name]
    with open(folder + "/Rdata.rdx", "rb") as index:
        variables = Reader(zlib.decompress(index.read(), 31)).item()["variables"]
    offset, length = variables[name]
    with open(folder + "/Rdata.rdb", "rb") as database:
        database.seek(offset)
        stored = database.read(length)
    # Four bytes tell the length of what is stored; then a letter the way, where it is not zlib's.
    return Reader(unpacked(stored[4:])).item()


def decompressed(file):
    for magic, codec in ((b"\x1f\x8b", gzip), (b"BZh", bz2), (b"\xfd7zXZ", lzma)):
        if file.startswith(magic):
            return codec.decompress(file)
    return file


def unpacked(stored):
    if stored[:1] == b"2":
        return bz2.decompress(stored[1:])
    if stored[:1] == b"Z":
        return lzma.decompress(stored[1:], lzma.FORMAT_RAW, filters=[{"id": lzma.FILTER_LZMA2, "preset": 6}])
    return zlib.decompress(stored)
