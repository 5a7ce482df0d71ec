"""A layer's matrix products alone, weights from memory: ggml's own code and ours, in turns, at 1 to 512 rows.

  TYPE, WIDTH by WIDE, N rows   milliseconds of all products on each side, and ggml's time over ours

Types F16, BF16 and F32 (--only names others: q8_0, q4_K), shapes of the default model (576 by 1536) and of Qwen3-0.6B (1024 by
3072). Numbers are the fastest of the turns, the ratio is the median. --quick: the first shape, fewer turns.
"""

import json
import os
import subprocess

import _frame

PROGRAM = os.path.join(os.path.dirname(_frame.BINARY), "products_bench")
SHAPES = ((576, 1536), (1024, 3072))


def run(bench):
    if not os.path.exists(PROGRAM):
        raise _frame.Skip(f"no {os.path.relpath(PROGRAM, _frame.ROOT)}: cmake --build build/release")
    cores = len(os.sched_getaffinity(0))
    for width, wide in SHAPES[:1] if bench.quick else SHAPES:
        command = [PROGRAM, str(cores), str(bench.times(15, 5)), str(width), str(wide), *bench.only]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=_frame.environment())
        if done.returncode != 0:
            raise RuntimeError(f"products_bench ended with {done.returncode}: {done.stderr.strip()[-300:]}")
        for line in done.stdout.splitlines():
            row = json.loads(line)
            bench.row(f"{row['type']}, {width} by {wide}, {row['rows']} rows",
                      {"ggml": _frame.numbers([row["ggml_ms"]], "ms"), "ours": _frame.numbers([row["ours_ms"]], "ms"),
                       "ggml/ours": _frame.numbers([row["ratio"]], "", least=row["least"], greatest=row["greatest"])},
                      [f"-t {cores}", f"layers {row['layers']}"])
        bench.show()
