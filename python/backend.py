# SPDX-License-Identifier: Apache-2.0
"""backend.py - makes the wheel and the source archive of encoderfile_c (PEP 517, PEP 660), with nothing but Python.

    pip wheel ./python            this machine's compiler and shared libraries: a wheel for this machine (linux_x86_64)
    ./dev wheel                   zig and libraries from source: wheels for any Linux with glibc 2.17 or newer

The C library is compiled by the Makefile; this file only links the extension, and writes the archives.
"""
import base64
import gzip
import hashlib
import io
import os
import pathlib
import platform
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile

if sys.version_info < (3, 11):  # pip asks for the wheel's data before it reads requires-python
    raise SystemExit("encoderfile_c needs Python 3.11 or newer: this is %d.%d" % sys.version_info[:2])
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import build as extension  # noqa: E402: which C files, which flags

ROOT = HERE if (HERE / "Makefile").exists() else HERE.parent  # a source archive has both in one folder
PACKAGE = HERE / "encoderfile_c"
# zig names a CPU where gcc names an architecture.
ZIG_MAKE = {"aarch64": ["ISA_dotprod=-mcpu=generic+v8_2a+dotprod"]}
LIBRARIES = "-lyaml -llua5.4 -lexpat -ljpeg -lpng16 -lwebp -lFLAC -logg -lzstd -lz -lm".split()
TIME = (2020, 1, 1, 0, 0, 0)  # of every file: the same sources make the same archive


def version():
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    return re.search(r"^## \[?(\d[\d.]*)", text, re.M).group(1)


def run(*command, **options):
    print("+", shlex.join(map(str, command)), flush=True)
    subprocess.run([str(word) for word in command], check=True, cwd=ROOT, **options)


class Target:
    """Where the extension is to run: how it is compiled, what the wheel is called."""

    def __init__(self, cpu, zig=None):
        self.cpu, self.zig = cpu, zig
        self.folder = ROOT / "build" / "wheel" / (f"zig-{cpu}" if zig else f"host-{cpu}")
        self.libraries = ROOT / "build" / "wheel" / f"libs-{cpu}"
        self.tag = f"manylinux_2_17_{cpu}.manylinux2014_{cpu}" if zig else f"linux_{cpu}"
        # zig alone defines NDEBUG where it optimizes
        self.compiler = [zig, "cc", "-target", f"{cpu}-linux-gnu.2.17", "-UNDEBUG"] if zig else shlex.split(os.environ.get("CC", "gcc"))
        cross = "" if cpu == platform.machine() else f"-{cpu}-linux"
        self.program = ROOT / "build" / f"encoderfile{cross}"

    def library(self):
        """Compiles the C library without server and TLS, as position-independent code."""
        make = ["make", "-s", f"-j{os.cpu_count()}", "PARTS=library", f"CC={shlex.join(map(str, self.compiler))}"]
        if not self.zig:
            run(*make)  # that of `make python`
            return ROOT / "build" / "lib" / "libencoderfile.a"
        archive = (self.folder / "libencoderfile.a").relative_to(ROOT)
        run(*make, f"OUT={archive.parent}", f"CPU={self.cpu}", "TLS=0", f"CFLAGS=-O2 -fPIC -Wno-unknown-attributes -I{self.libraries}/include",
            *ZIG_MAKE.get(self.cpu, []), archive)
        return ROOT / archive

    def headers(self):
        """Python's, with the pyconfig.h itself in place of Debian's, which looks for it where zig does not."""
        folder = self.folder / "python"
        self.folder.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(folder, ignore_errors=True)
        include = pathlib.Path(sysconfig.get_path("include"))
        if not (include / "Python.h").exists():
            raise SystemExit(f"{include}/Python.h: not there; it comes with python3-dev (Debian: libpython3-dev)")
        own = include.parent / (sysconfig.get_config_var("MULTIARCH") or "") / include.name / "pyconfig.h"  # Debian's
        shutil.copytree(include, folder)
        shutil.copy(own if own.exists() else sysconfig.get_config_h_filename(), folder / "pyconfig.h")
        return folder

    def extension(self):
        headers, library, made = str(self.headers()), self.library(), self.folder / "_core.abi3.so"
        extra = ["-O2", "-s", *(["-Wno-macro-redefined", f"-L{self.libraries}"] if self.zig else [])]
        run(*extension.compile_line(self.compiler, extra, library, LIBRARIES, made, headers))
        if not self.zig:
            return made  # the rest is in shared libraries
        listed = subprocess.run(["nm", "-D", "--undefined-only", made], check=True, capture_output=True, text=True).stdout
        missing = [line.split()[1] for line in listed.splitlines() if re.match(r" +U (?!_?Py)[^@]*$", line)]
        if missing: # a shared library may be linked with holes: it would fail on import
            raise SystemExit(f"{made}: nothing defines {', '.join(missing)}")
        return made


def notices():
    """The licences of what is inside: what `encoderfile licenses` prints."""
    made = subprocess.run(["sh", ROOT / "tools" / "notices", version(), *LIBRARIES, "-lssl", "-lcrypto", "-lnghttp2"],
                          check=True, capture_output=True)
    return made.stdout


def metadata():
    with open(HERE / "pyproject.toml", "rb") as file:
        project = tomllib.load(file)["project"]
    lines = ["Metadata-Version: 2.4", f"Name: {project['name']}", f"Version: {version()}", f"Summary: {project['description']}",
             f"License-Expression: {project['license']}", "License-File: LICENSE", "License-File: NOTICES",
             f"Requires-Python: {project['requires-python']}", "Description-Content-Type: text/markdown"]
    lines += [f"Requires-Dist: {name}" for name in project["dependencies"]]
    for extra, names in project["optional-dependencies"].items():
        lines += [f"Provides-Extra: {extra}"] + [f"Requires-Dist: {name}; extra == '{extra}'" for name in names]
    return "\n".join(lines) + "\n\n" + (HERE / "README.md").read_text("utf-8")


class Wheel:
    """A zip archive with its list of digests."""

    def __init__(self, folder, tag):
        self.name = f"encoderfile_c-{version()}"
        self.tags = tag
        self.path = pathlib.Path(folder) / f"{self.name}-cp311-abi3-{tag}.whl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.file = zipfile.ZipFile(self.path, "w", zipfile.ZIP_DEFLATED, compresslevel=9)
        self.record = []

    def add(self, name, data, mode=0o644):
        entry = zipfile.ZipInfo(name, TIME)
        entry.external_attr = (0o100000 | mode) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(data)}")
        self.file.writestr(entry, data)

    def close(self):
        info = f"{self.name}.dist-info"
        tags = "".join(f"Tag: cp311-abi3-{tag}\n" for tag in self.tags.split("."))
        self.add(f"{info}/METADATA", metadata().encode())
        self.add(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: encoderfile_c\nRoot-Is-Purelib: false\n{tags}".encode())
        self.add(f"{info}/licenses/LICENSE", (ROOT / "LICENSE").read_bytes())
        self.add(f"{info}/licenses/NOTICES", notices())
        self.record.append(f"{info}/RECORD,,\n")
        self.file.writestr(zipfile.ZipInfo(f"{info}/RECORD", TIME), "\n".join(self.record))
        self.file.close()
        return self.path.name


def sources():
    """The Python files, stubs and py.typed."""
    for path in sorted(PACKAGE.rglob("*")):
        if path.suffix in (".py", ".pyi") or path.name == "py.typed":
            yield path.relative_to(HERE).as_posix(), path.read_bytes()


def program(target):
    """The static program, which rides along: it serves, and is what build() packs models behind."""
    if not target.program.exists():
        if target.cpu != platform.machine():
            raise SystemExit(f"{target.program}: not there; ./dev build --target {target.cpu}-linux makes it")
        run("make", "-s", f"-j{os.cpu_count()}", "build/encoderfile")
    return target.program.read_bytes()


def make(target, folder):
    core, own = target.extension().read_bytes(), program(target)  # first: a build that fails leaves no wheel
    wheel = Wheel(folder, target.tag)
    for name, data in sources():
        wheel.add(name, data)
    wheel.add("encoderfile_c/_core.abi3.so", core, 0o755)
    wheel.add(f"{wheel.name}.data/scripts/encoderfile", own, 0o755)
    return wheel.close()


# ---- what pip calls ----

def get_requires_for_build_wheel(config_settings=None):
    return []


get_requires_for_build_sdist = get_requires_for_build_editable = get_requires_for_build_wheel


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    folder = pathlib.Path(metadata_directory) / f"encoderfile_c-{version()}.dist-info"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "METADATA").write_text(metadata(), "utf-8")
    return folder.name


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    return make(Target(platform.machine()), wheel_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """The Python files stay where they are; the extension is put beside them, the program is that of build/."""
    target = Target(platform.machine())
    shutil.copy(target.extension(), PACKAGE / "_core.abi3.so")
    program(target)
    wheel = Wheel(wheel_directory, target.tag)
    wheel.add("encoderfile_c.pth", f"{HERE}\n".encode())
    return wheel.close()


def build_sdist(sdist_directory, config_settings=None):
    """One folder with what the wheel is made of: this one and, beside it, the C sources."""
    name = f"encoderfile_c-{version()}"
    parts = [(HERE, part) for part in ("pyproject.toml", "backend.py", "build.py", "README.md", "encoderfile_c", "native")]
    parts += [(ROOT, part) for part in ("Makefile", "CHANGELOG.md", "LICENSE", "licenses", "include", "src", "tools/notices", "tools/unused", "tools/wheel")]
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for base, part in parts:
            files = [base / part] if (base / part).is_file() else sorted((base / part).rglob("*"))
            for path in files:
                if path.is_file() and path.suffix not in (".so", ".pyc"):
                    entry = archive.gettarinfo(path, f"{name}/{path.relative_to(base)}")
                    entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname = 1577836800, 0, 0, "", ""
                    with open(path, "rb") as file:
                        archive.addfile(entry, file)
        info = tarfile.TarInfo(f"{name}/PKG-INFO")
        text = metadata().encode()
        info.size = len(text)
        archive.addfile(info, io.BytesIO(text))
    path = pathlib.Path(sdist_directory) / f"{name}.tar.gz"
    path.write_bytes(gzip.compress(raw.getvalue(), mtime=0))
    return path.name


def main():
    """backend.py ZIG FOLDER CPU...: the wheels for other machines; tools/wheel/run has prepared the libraries."""
    zig, folder, *cpus = sys.argv[1:]
    for cpu in cpus:
        print(pathlib.Path(folder) / make(Target(cpu, zig), folder))


if __name__ == "__main__":
    main()
