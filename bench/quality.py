"""What the kernels cost in accuracy: option probabilities of JevBench's rows against a reference in float.

  TYPE, READOUT, llama.cpp's kernels   divergence and flips against the reference, right answers
  TYPE, READOUT, packed                the same for kernels of our own

The reference is the default model (ASSAY_MODEL: another) with its weights written out as F32, computed by llama.cpp without quantised
activations. TYPE Q4_0 and Q8_0 are that model quantised anew, F16 and BF16 it rounded, so their distance is what such a model has from
its original; goal: ours at most a tenth more than llama.cpp's. So are Q3_K to Q6_K, by llama.cpp's llama-quantize where it was built
(`cmake --build build/release --target llama-quantize`); matrices whose depth is no multiple of 256 get another type there, which is
most of the default model. F32 is the reference itself, so llama.cpp's row is zero. `own` is the model's file itself: its weights are
the reference's, so there is the noise of the arithmetic alone, without a goal. `KL` is the mean over rows of the divergence of the
option distribution from the reference's, `flips` the rows with another first choice, `apart` the greatest difference of one
probability. Files are made into build/quality once (1.5 GB). --quick: easy rows only; --only chooses types.
"""

import json
import math
import os
import subprocess

import readout

import _frame

FOLDER = os.path.join(_frame.ROOT, "build", "quality")
QUANTIZE = os.path.join(os.path.dirname(_frame.BINARY), "bin", "llama-quantize")
BY_LLAMA = ("Q3_K", "Q4_K", "Q5_K", "Q6_K")
KINDS = ("Q4_0", "Q8_0", "F16", "BF16", *BY_LLAMA)  # that have a goal
SIDES = (("llama.cpp's kernels", "off"), ("packed", "on"))


def write_as(source, path, kind):
    """The same GGUF with every matrix as `kind`, and all other quantised tensors as F32."""
    import gguf
    import numpy
    reader = gguf.GGUFReader(source)
    writer = gguf.GGUFWriter(path + ".part", reader.fields["general.architecture"].contents())
    for name, field in reader.fields.items():
        if name.startswith("GGUF.") or name in ("general.architecture", "general.file_type"):
            continue
        arrays = {"sub_type": field.types[-1]} if field.types[0] == gguf.GGUFValueType.ARRAY else {}
        writer.add_key_value(name, field.contents(), field.types[0], **arrays)
    wanted = gguf.GGMLQuantizationType[kind]
    for tensor in reader.tensors:
        floats = gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(numpy.float32)
        if wanted != gguf.GGMLQuantizationType.F32 and floats.ndim == 2:
            writer.add_tensor(tensor.name, gguf.quants.quantize(floats, wanted), raw_dtype=wanted)
        else:
            writer.add_tensor(tensor.name, floats)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    os.replace(path + ".part", path)


def model_as(kind):
    """The model's weights as `kind`, made when it is missing."""
    path = os.path.join(FOLDER, os.path.basename(_frame.MODEL).removesuffix(".gguf") + f".{kind}.gguf")
    if kind in BY_LLAMA and not os.path.exists(path):
        command = [QUANTIZE, "--pure", model_as("F32"), path + ".part", "Q6_K" if kind == "Q6_K" else kind + "_S"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.replace(path + ".part", path)
    if not os.path.exists(path):
        os.makedirs(FOLDER, exist_ok=True)
        python = os.path.join(_frame.ROOT, "third_party", "venv", "bin", "python")
        code = f"import sys; sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r}); import quality; " \
               f"quality.write_as({_frame.MODEL!r}, {path!r}, {kind!r})"
        subprocess.run([python, "-c", code], check=True)
    return path


def score(model, packing, readout_name, lines):
    """The answers to JevBench's records."""
    source, out = os.path.join(FOLDER, "rows.jsonl"), os.path.join(FOLDER, "out.jsonl")
    with open(source, "w", encoding="utf-8") as file:
        file.writelines(lines)
    command = [_frame.BINARY, "score", source, "-o", out, "--overwrite", "-m", model, "--readout", readout_name,
               "--pack", packing, "--no-readout-check", "--check-dir", FOLDER]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=_frame.environment())
    if done.returncode != 0:
        raise RuntimeError(f"assay score ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    with open(out, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def compare(reference, other):
    divergences, flips, apart, right = [], 0, 0.0, 0
    for wanted, answer in zip(reference, other):
        p, q = wanted["probabilities"], answer["probabilities"]
        divergences.append(math.fsum(p[o] * math.log(p[o] / max(q[o], 1e-300)) for o in p if p[o] > 0))
        flips += wanted["choice"] != answer["choice"]
        apart = max(apart, max(abs(p[o] - q[o]) for o in p))
        right += answer["correct"]
    return divergences, flips, apart, right


def run(bench):
    for path in (_frame.BINARY, _frame.MODEL):
        if not os.path.exists(path):
            raise _frame.Skip(f"no {os.path.relpath(path, _frame.ROOT)}")
    rows = []
    for path in readout.files_of(bench):
        with open(path, encoding="utf-8") as file:
            rows.extend(line.rstrip("\n") + "\n" for line in file)
    if not os.path.exists(QUANTIZE):
        bench.say("no llama-quantize beside the program: K-quants are left out")
    usual = [kind for kind in ("own", *KINDS, "F32") if kind not in BY_LLAMA or os.path.exists(QUANTIZE)]
    kinds = [kind for kind in usual if kind in bench.only or not bench.only]
    models = {kind: _frame.MODEL if kind == "own" else model_as(kind) for kind in kinds}
    for name in ("letters", "text"):
        bench.say(f"readout {name}, {len(rows)} rows, reference")
        reference = score(model_as("F32"), "off", name, rows)
        for kind, model in models.items():
            bench.say(f"readout {name}, {kind}")
            compare_kernels(bench, kind, model, name, rows, reference)


def compare_kernels(bench, kind, model, readout_name, rows, reference):
    mean = {}
    for side, packing in SIDES:
        divergences, flips, apart, right = compare(reference, score(model, packing, readout_name, rows))
        kl = _frame.numbers(divergences, "nats")
        mean[packing] = kl["mean"]
        if packing == "on" and kind in KINDS:
            kl.update(goal="at most 1.1 times llama.cpp's", reached=mean["on"] <= 1.1 * mean["off"])
        bench.row(f"{kind}, {readout_name}, {side}", {"KL": kl, "flips": _frame.numbers([flips], "", of=len(rows)),
                                       "apart": _frame.numbers([apart], ""),
                                       "right": _frame.numbers([right], "", of=len(rows))}, [f"--pack {packing}"], model)
