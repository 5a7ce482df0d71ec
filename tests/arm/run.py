#!/usr/bin/env python3
"""The kernels for ARM on an emulated CPU: tests/arm/run.py

Cross-compiles the kernels that need no ggml, with their tests, and runs them under qemu's user mode, once on a CPU with
everything and once on one without int8 matrix products. What is compared is the bits: each unit against the scalar one.
Skips with the reason where the cross compiler, qemu or GoogleTest's source are missing (tools/setup --dev installs them).
The last line is `N passed, N failed, N skipped`; logs lie in build/arm.
"""

import concurrent.futures
import glob
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OUT = os.path.join(ROOT, "build", "arm")
KERNELS = os.path.join(ROOT, "src", "kernels")
COMPILER = "aarch64-linux-gnu-g++"
EMULATOR = "qemu-aarch64"
GOOGLE_TEST = "/usr/src/googletest/googletest"
TESTS = ("product_test.cc", "product_words_test.cc", "attention_test.cc", "pack_groups_test.cc")
NOT_HERE = re.compile(r"(ggml_\w+|pack_behind|pack_cache\w*|packed_region|\w+_test)\.cc$")
# CPU for qemu: the unit that must be chosen there. Neoverse N1 has dot products only.
CPUS = {"max": "neon-i8mm", "neoverse-n1": "neon-dotprod"}
FLAGS = {"neon_dotprod_unit.cc": ["-march=armv8.2-a+dotprod"], "neon_i8mm_unit.cc": ["-march=armv8.2-a+i8mm"]}
CHOSEN = """#include <cstdio>
#include "kernels/unit.h"
int main() { std::puts(assay::kernels::chosen_unit().name); }
"""


def missing():
    for tool in (COMPILER, EMULATOR):
        if shutil.which(tool) is None:
            return f"no {tool}"
    return None if os.path.isdir(GOOGLE_TEST) else f"no {GOOGLE_TEST}"


def sources():
    kernels = [path for path in glob.glob(os.path.join(KERNELS, "*.cc")) if not NOT_HERE.search(path)]
    tests = [os.path.join(KERNELS, name) for name in TESTS]
    google = [os.path.join(GOOGLE_TEST, "src", name) for name in ("gtest-all.cc", "gtest_main.cc")]
    return sorted(kernels), tests, google


def compile_one(path):
    """(object, what the compiler said); no object when it failed."""
    target = os.path.join(OUT, os.path.basename(path) + ".o")
    command = [COMPILER, "-std=c++20", "-O2", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off",
               *FLAGS.get(os.path.basename(path), []), "-I", os.path.join(ROOT, "src"), "-I", os.path.join(ROOT, "include"),
               "-isystem", os.path.join(GOOGLE_TEST, "include"), "-isystem", GOOGLE_TEST, "-c", path, "-o", target]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return (target if done.returncode == 0 else None), done.stderr


def link(name, objects):
    program = os.path.join(OUT, name)
    done = subprocess.run([COMPILER, "-static", *objects, "-o", program, "-lpthread"], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        print(done.stderr[-3000:])
        return None
    return program


def build():
    """(test program, program that names the chosen unit), or None."""
    os.makedirs(OUT, exist_ok=True)
    chosen = os.path.join(OUT, "chosen.cc")
    with open(chosen, "w", encoding="utf-8") as file:
        file.write(CHOSEN)
    kernels, tests, google = sources()
    every = kernels + tests + google + [chosen]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        objects = dict(zip(every, pool.map(compile_one, every)))
    failed = [(path, said) for path, (made, said) in objects.items() if made is None]
    for path, said in failed:
        print(f"{os.path.relpath(path, ROOT)}:\n{said[-3000:]}")
    if failed:
        return None
    made = {path: target for path, (target, _) in objects.items()}
    programs = (link("kernels_test", [made[path] for path in kernels + tests + google]),
                link("chosen", [made[path] for path in kernels + [chosen]]))
    return None if None in programs else programs


def run_on(cpu, unit, programs):
    """(passed, failed) on one emulated CPU."""
    test, chosen = programs
    said = subprocess.run([EMULATOR, "-cpu", cpu, chosen], capture_output=True, text=True, check=False)
    right = said.returncode == 0 and said.stdout.strip() == unit
    print(f"{'ok' if right else 'FAILED'}  {cpu}: chooses {said.stdout.strip() or said.stderr.strip()}, expected {unit}")
    with open(os.path.join(OUT, f"{cpu}.log"), "w", encoding="utf-8") as log:
        done = subprocess.run([EMULATOR, "-cpu", cpu, test], stdout=log, stderr=subprocess.STDOUT, text=True, check=False)
    with open(log.name, encoding="utf-8") as log:
        text = log.read()
    passed = len(re.findall(r"^\[       OK \]", text, re.MULTILINE))
    failed = len(set(re.findall(r"^\[  FAILED  \] (\S+?),? ", text, re.MULTILINE)))
    skipped = len(re.findall(r"^\[  SKIPPED \] \S+ \(", text, re.MULTILINE))
    if done.returncode != 0 and failed == 0:
        failed = 1  # it fell over
    print(f"{'ok' if failed == 0 else 'FAILED'}  {cpu}: {passed} tests passed, {failed} failed, {skipped} skipped")
    if failed:
        print(text[-4000:])
    return passed + right, failed + (not right)


def main():
    reason = missing()
    if reason:
        print(f"skipped: {reason}: run tools/setup --dev")
        print("0 passed, 0 failed, 1 skipped")
        return 0
    programs = build()
    if programs is None:
        print("0 passed, 1 failed, 0 skipped")
        return 1
    counts = [run_on(cpu, unit, programs) for cpu, unit in CPUS.items()]
    passed, failed = (sum(column) for column in zip(*counts))
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
