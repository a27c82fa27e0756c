# SPDX-License-Identifier: Apache-2.0
"""hide.py FOLDER - an AVX2 machine where there is none: peers.py --isa avx2 starts itself again in this environment.

ONNX Runtime and OpenVINO ask CPUID and nobody else, so they get copies of their libraries in which every `cpuid`
(found by objdump) is `ud2`, and a preloaded handler (hide.c) that answers without AVX-512, VNNI, BF16 and AMX.
PyTorch, oneDNN and our program have variables for it. Made once, in a folder of the caller's choice.
"""
import os
import shutil
import subprocess
import sys
import sysconfig

PACKAGES = {"onnxruntime": ["capi/onnxruntime_pybind11_state"],
            "openvino": ["libs/libopenvino_intel_cpu_plugin.so", "libs/libopenvino.so"]}
VARIABLES = {"EF_CPU": "avx2", "ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "DNNL_MAX_CPU_ISA": "AVX2",
             "MKL_ENABLE_INSTRUCTIONS": "AVX2"}


def segments(path):
    """(address, offset in the file, size) of what is loaded."""
    out = subprocess.run(["readelf", "-lW", path], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in out.splitlines() if line.split()[:1] == ["LOAD"]]
    return [(int(r[2], 16), int(r[1], 16), int(r[4], 16)) for r in rows]


def without_cpuid(path):
    """Replaces each of them in this very file; returns how many."""
    out = subprocess.Popen(["objdump", "-d", "--no-show-raw-insn", path], stdout=subprocess.PIPE, text=True)
    found = [int(line.split(":")[0], 16) for line in out.stdout if line.rstrip().endswith("\tcpuid")]
    with open(path, "r+b") as f:
        for address in found:
            at = next(address - a + o for a, o, n in segments(path) if a <= address < a + n)
            f.seek(at)
            assert f.read(2) == b"\x0f\xa2"
            f.seek(at)
            f.write(b"\x0f\x0b")
    return len(found)


def copy(name, folder):
    """A copy of an installed package: links to the files, but for the libraries that are changed."""
    source = os.path.join(sysconfig.get_paths()["platlib"], name)
    shutil.copytree(source, f"{folder}/{name}.part", copy_function=os.link, ignore=shutil.ignore_patterns("*.pyc"))
    for place, begin in map(os.path.split, PACKAGES[name]):
        library = next(f for f in os.listdir(f"{source}/{place}") if f.startswith(begin))
        target = f"{folder}/{name}.part/{place}/{library}"
        os.remove(target)
        shutil.copy(f"{source}/{place}/{library}", target)
        print(f"{library}: {without_cpuid(target)} times cpuid", flush=True)
    os.rename(f"{folder}/{name}.part", f"{folder}/{name}")


def environment(folder):
    os.makedirs(folder, exist_ok=True)
    for name in PACKAGES:
        if not os.path.exists(f"{folder}/{name}"):
            copy(name, folder)
    here = os.path.dirname(os.path.abspath(__file__))
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", f"{folder}/hide.so", f"{here}/hide.c"], check=True)
    return dict(os.environ, **VARIABLES, PYTHONPATH=os.path.abspath(folder),
                LD_PRELOAD=os.path.abspath(f"{folder}/hide.so"))


if __name__ == "__main__":
    environment(sys.argv[1])
