#!/usr/bin/env python3
"""Builds ik_llama.cpp's llama-bench, which bench/run prefill compares with: third_party/venv/bin/python3 bench/build_ik.py

Fetches the source package ik-llama-cpp-python 0.1.5 with pip (MIT; nothing of it is part of Assay), unpacks it into build/ik and
builds one target with the same compiler, natively. About 100 MB to fetch and some minutes on two cores.
"""

import glob
import os
import subprocess
import sys
import tarfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = os.path.join(ROOT, "build", "ik")
NAME, VERSION = "ik-llama-cpp-python", "0.1.5"
PROGRAM = os.path.join(FOLDER, "build", "bin", "llama-bench")
# What a git checkout would have generated.
BUILD_INFO = """int LLAMA_BUILD_NUMBER = 0;
char const * LLAMA_COMMIT = "unknown";
char const * LLAMA_COMPILER = "unknown";
char const * LLAMA_BUILD_TARGET = "unknown";
"""


# pip asks a source package's build code for the metadata; this stand-in answers, so that nothing of the package runs.
STAND_IN = f"""import os


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    folder = "{NAME.replace("-", "_")}-{VERSION}.dist-info"
    os.makedirs(os.path.join(metadata_directory, folder), exist_ok=True)
    with open(os.path.join(metadata_directory, folder, "METADATA"), "w") as out:
        out.write("Metadata-Version: 2.1\\nName: {NAME}\\nVersion: {VERSION}\\n")
    return folder
"""


def fetch():
    """The folder of ik_llama.cpp's own tree."""
    found = glob.glob(os.path.join(FOLDER, "ik_llama_cpp_python-*", "vendor", "ik_llama.cpp"))
    if found:
        return found[0]
    backend = os.path.join(FOLDER, "backend")
    write_if_missing(os.path.join(backend, "scikit_build_core", "__init__.py"), "")
    write_if_missing(os.path.join(backend, "scikit_build_core", "build.py"), STAND_IN)
    subprocess.run([sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", ":all:", "--no-build-isolation", "-d",
                    FOLDER, f"{NAME}=={VERSION}"], check=True, env=dict(os.environ, PYTHONPATH=backend))
    archive = glob.glob(os.path.join(FOLDER, "ik*llama*.tar.gz"))[0]
    with tarfile.open(archive) as file:
        file.extractall(FOLDER, filter="data")
    return glob.glob(os.path.join(FOLDER, "ik_llama_cpp_python-*", "vendor", "ik_llama.cpp"))[0]


def write_if_missing(path, text):
    if not os.path.exists(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def main():
    tree = fetch()
    write_if_missing(os.path.join(tree, "common", "cmake", "build-info-gen-cpp.cmake"), "")
    write_if_missing(os.path.join(tree, "common", "build-info.cpp"), BUILD_INFO)
    build = os.path.join(FOLDER, "build")
    subprocess.run(["cmake", "-S", tree, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DBUILD_SHARED_LIBS=OFF",
                    "-DGGML_NATIVE=ON", "-DLLAMA_CURL=OFF", "-DLLAMA_BUILD_SERVER=OFF"], check=True)
    subprocess.run(["cmake", "--build", build, "--target", "llama-bench", "-j", str(os.cpu_count() or 1)], check=True)
    print(PROGRAM)


if __name__ == "__main__":
    main()
