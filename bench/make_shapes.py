#!/usr/bin/env python3
"""Makes GGUFs with the shapes of real models and random weights: third_party/venv/bin/python3 bench/make_shapes.py [NAME...]

For speed only: a forward pass costs what the real model's would, and its answers mean nothing. Vocabulary and chat template are
Qwen's, from llama.cpp's tree; the seed is fixed, so every machine gets the same bytes. Written to build/shapes/ when missing
(needs the packages of tests/requirements.txt, 0.4, 2.5, 0.6 and 0.8 GB of disk).

  qwen3-0.6b     attention only, 28 layers, tensor types as llama.cpp's Q4_K_M mix
  qwen3-4b       the same with 36 wider layers; only when it is named
  qwen3-moe      8 layers of experts, 8 of 64 for each row, tensor types as in the mix; only when it is named
  qwen3-0.6b-f16, qwen3-0.6b-bf16   the first with all matrices in half precision (1.2 GB each); only when they are named
  qwen3.5-0.8b   18 recurrent (gated delta net) and 6 attention layers, Q8_0, 248,320 tokens (the tree's list, filled up)
"""

import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = os.path.join(ROOT, "build", "shapes")
LLAMA = os.environ.get("ASSAY_LLAMA_DIR") or os.path.join(ROOT, "third_party", "llama.cpp")
SEED = 20261129
FILES = {"qwen3-0.6b": "random-qwen3-0.6b.Q4_K_M.gguf", "qwen3-4b": "random-qwen3-4b.Q4_K_M.gguf",
         "qwen3-moe": "random-qwen3-moe.Q4_K_M.gguf",
         "qwen3-0.6b-f16": "random-qwen3-0.6b.F16.gguf", "qwen3-0.6b-bf16": "random-qwen3-0.6b.BF16.gguf",
         "qwen3.5-0.8b": "random-qwen3.5-0.8b.Q8_0.gguf"}


def path_of(name):
    return os.path.join(FOLDER, FILES[name])


class Shape:
    """One GGUF under construction. Quantised blocks are drawn directly: random bits with a scale that gives each matrix the
    spread 1/sqrt(columns), so that numbers neither explode nor vanish on the way through the layers."""

    def __init__(self, path, architecture, vocabulary, template, tokens=0):
        import gguf
        import numpy
        self.gguf, self.numpy = gguf, numpy
        self.random = numpy.random.default_rng(SEED)
        self.architecture = architecture
        self.writer = gguf.GGUFWriter(path, architecture)
        self.tokens = self._copy_vocabulary(vocabulary, tokens)
        with open(os.path.join(LLAMA, "models", "templates", template), encoding="utf-8") as file:
            self.writer.add_chat_template(file.read())

    def _copy_vocabulary(self, name, tokens):
        """Returns the number of tokens; a list shorter than `tokens` is filled with unused ones, as the real one is."""
        reader = self.gguf.GGUFReader(os.path.join(LLAMA, "models", name))
        content = {key: field.contents() for key, field in reader.fields.items() if key.startswith("tokenizer.")}
        words = list(content["tokenizer.ggml.tokens"])
        kinds = [int(kind) for kind in content["tokenizer.ggml.token_type"]]
        for number in range(len(words), tokens):
            words.append(f"[PAD{number}]")
            kinds.append(int(self.gguf.TokenType.UNUSED))
        self.writer.add_tokenizer_model(content["tokenizer.ggml.model"])
        self.writer.add_tokenizer_pre(content["tokenizer.ggml.pre"])
        self.writer.add_token_list(words)
        self.writer.add_token_types(kinds)
        self.writer.add_token_merges(content["tokenizer.ggml.merges"])
        self.writer.add_eos_token_id(words.index("<|im_end|>"))
        self.writer.add_pad_token_id(words.index("<|endoftext|>"))
        self.writer.add_add_bos_token(False)
        return len(words)

    def numbers(self, **named):
        for key, number in named.items():
            self.writer.add_uint32(f"{self.architecture}.{key.replace('__', '.')}", number)

    def plain(self, name, numbers):
        self.writer.add_tensor(name, self.numpy.asarray(numbers, dtype=self.numpy.float32))

    def ones(self, name, count):
        self.plain(name, self.numpy.ones(count))

    def matrix(self, name, rows, columns, kind, experts=None):
        """`experts`: how many such matrices make the tensor."""
        if kind in ("F16", "BF16"):
            self._halves(name, rows, columns, kind)
            return
        draw, block, size = {"Q4_K": (self._q4_k, 256, 144), "Q6_K": (self._q6_k, 256, 210), "Q8_0": (self._q8_0, 32, 34)}[kind]
        count = rows * columns * (experts or 1) // block
        blocks = self.random.integers(0, 256, size=(count, size), dtype=self.numpy.uint8)
        draw(blocks, columns ** -0.5)
        shape = (rows, -1) if experts is None else (experts, rows, columns // block * size)
        self.writer.add_tensor(name, blocks.reshape(shape), raw_dtype=self.gguf.GGMLQuantizationType[kind])

    def _halves(self, name, rows, columns, kind):
        floats = self.random.standard_normal((rows, columns), dtype=self.numpy.float32) * self.numpy.float32(columns ** -0.5)
        if kind == "F16":
            self.writer.add_tensor(name, floats.astype(self.numpy.float16))
        else:  # the upper half of each float
            halves = (floats.view(self.numpy.uint32) >> 16).astype(self.numpy.uint16)
            self.writer.add_tensor(name, halves.view(self.numpy.uint8), raw_dtype=self.gguf.GGMLQuantizationType.BF16)

    def _half(self, number):
        return self.numpy.array([number], dtype=self.numpy.float16).view(self.numpy.uint8)

    def _q4_k(self, blocks, spread):
        # d * scale * q - dmin * min, q in 0..15, scales and mins in 0..63: dmin = 7.5 d centres it.
        scale = spread / (31.5 * 4.6)
        blocks[:, 0:2] = self._half(scale)
        blocks[:, 2:4] = self._half(7.5 * scale)

    def _q6_k(self, blocks, spread):
        # d * scale * (q - 32), q in 0..63, scales around 36 and positive.
        blocks[:, 192:208] = self.random.integers(8, 64, size=(len(blocks), 16), dtype=self.numpy.uint8)
        blocks[:, 208:210] = self._half(spread / (36 * 18.5))

    def _q8_0(self, blocks, spread):
        # d * q, q uniform in -128..127: its spread is 73.9.
        blocks[:, 0:2] = self._half(spread / 73.9)

    def close(self):
        self.writer.write_header_to_file()
        self.writer.write_kv_data_to_file()
        self.writer.write_tensors_to_file()
        self.writer.close()


def begin_qwen3(path, kind, architecture, width, layers, wide, heads, shared_heads, head, **numbers):
    """A shape with all but its layers."""
    shape = Shape(path, architecture, "ggml-vocab-qwen2.gguf", "Qwen-Qwen3-0.6B.jinja")
    shape.numbers(context_length=40960, embedding_length=width, block_count=layers, feed_forward_length=wide,
                  attention__head_count=heads, attention__head_count_kv=shared_heads, attention__key_length=head,
                  attention__value_length=head, **numbers)
    shape.writer.add_rope_freq_base(1e6)
    shape.writer.add_layer_norm_rms_eps(1e-6)
    shape.writer.add_file_type({"F16": 1, "BF16": 32}.get(kind, 15))  # 15: mostly Q4_K_M
    shape.matrix("token_embd.weight", shape.tokens, width, kind or "Q6_K")
    shape.ones("output_norm.weight", width)
    return shape


def qwen3_attention(shape, kind, layer, layers, width, heads, shared_heads, head):
    """A layer's norms and attention; the type of its down projection."""
    at = f"blk.{layer}."
    # llama.cpp's mix: the first and last eighth, and every third layer between, keep values and down projection finer.
    finer = layer < layers // 8 or layer >= 7 * layers // 8 or (layer - layers // 8) % 3 == 2
    down = kind or ("Q6_K" if finer else "Q4_K")
    for name, count in (("attn_norm", width), ("ffn_norm", width), ("attn_q_norm", head), ("attn_k_norm", head)):
        shape.ones(f"{at}{name}.weight", count)
    shape.matrix(at + "attn_q.weight", heads * head, width, kind or "Q4_K")
    shape.matrix(at + "attn_k.weight", shared_heads * head, width, kind or "Q4_K")
    shape.matrix(at + "attn_v.weight", shared_heads * head, width, down)
    shape.matrix(at + "attn_output.weight", width, heads * head, kind or "Q4_K")
    return down


def make_qwen3(path, width=1024, layers=28, wide=3072, heads=16, shared_heads=8, head=128, kind=None):
    """`kind`: of all matrices, instead of the mix."""
    shape = begin_qwen3(path, kind, "qwen3", width, layers, wide, heads, shared_heads, head)
    for layer in range(layers):
        at = f"blk.{layer}."
        down = qwen3_attention(shape, kind, layer, layers, width, heads, shared_heads, head)
        shape.matrix(at + "ffn_gate.weight", wide, width, kind or "Q4_K")
        shape.matrix(at + "ffn_up.weight", wide, width, kind or "Q4_K")
        shape.matrix(at + "ffn_down.weight", width, wide, down)
    shape.close()


def make_qwen3_moe(path, width=1024, layers=8, experts=64, used=8, wide=512, heads=16, shared_heads=8, head=128):
    shape = begin_qwen3(path, None, "qwen3moe", width, layers, 3 * width, heads, shared_heads, head, expert_count=experts,
                        expert_used_count=used, expert_feed_forward_length=wide)
    for layer in range(layers):
        at = f"blk.{layer}."
        down = qwen3_attention(shape, None, layer, layers, width, heads, shared_heads, head)
        shape.plain(at + "ffn_gate_inp.weight", shape.random.standard_normal((experts, width)) * width ** -0.5)
        shape.matrix(at + "ffn_gate_exps.weight", wide, width, "Q4_K", experts)
        shape.matrix(at + "ffn_up_exps.weight", wide, width, "Q4_K", experts)
        shape.matrix(at + "ffn_down_exps.weight", width, wide, down, experts)
    shape.close()


def make_qwen35(path):
    width, layers, wide = 1024, 24, 3584
    heads, shared_heads, head = 8, 2, 256
    states, state, kernel = 16, 128, 4
    inner = states * state
    shape = Shape(path, "qwen35", "ggml-vocab-qwen35.gguf", "Qwen3.5-4B.jinja", tokens=248320)
    shape.numbers(context_length=262144, embedding_length=width, block_count=layers, feed_forward_length=wide,
                  attention__head_count=heads, attention__head_count_kv=shared_heads, attention__key_length=head,
                  attention__value_length=head, rope__dimension_count=64, ssm__conv_kernel=kernel, ssm__inner_size=inner,
                  ssm__state_size=state, ssm__time_step_rank=states, ssm__group_count=states, full_attention_interval=4)
    shape.writer.add_array("qwen35.rope.dimension_sections", [11, 11, 10, 0])
    shape.writer.add_rope_freq_base(1e7)
    shape.writer.add_layer_norm_rms_eps(1e-6)
    shape.writer.add_file_type(7)  # mostly Q8_0
    shape.matrix("token_embd.weight", shape.tokens, width, "Q8_0")
    shape.ones("output_norm.weight", width)
    for layer in range(layers):
        at = f"blk.{layer}."
        shape.ones(at + "attn_norm.weight", width)
        shape.ones(at + "post_attention_norm.weight", width)
        if layer % 4 == 3:
            shape.matrix(at + "attn_q.weight", heads * head * 2, width, "Q8_0")  # queries and their gate
            shape.matrix(at + "attn_k.weight", shared_heads * head, width, "Q8_0")
            shape.matrix(at + "attn_v.weight", shared_heads * head, width, "Q8_0")
            shape.matrix(at + "attn_output.weight", width, heads * head, "Q8_0")
            shape.ones(at + "attn_q_norm.weight", head)
            shape.ones(at + "attn_k_norm.weight", head)
        else:
            recurrent_layer(shape, at, width, states, state, kernel)
        shape.matrix(at + "ffn_gate.weight", wide, width, "Q8_0")
        shape.matrix(at + "ffn_up.weight", wide, width, "Q8_0")
        shape.matrix(at + "ffn_down.weight", width, wide, "Q8_0")
    shape.close()


def recurrent_layer(shape, at, width, states, state, kernel):
    inner = states * state
    shape.matrix(at + "attn_qkv.weight", 3 * inner, width, "Q8_0")
    shape.matrix(at + "attn_gate.weight", inner, width, "Q8_0")
    shape.plain(at + "ssm_conv1d.weight", shape.random.standard_normal((3 * inner, kernel)) * kernel ** -0.5)
    shape.plain(at + "ssm_dt.bias", shape.random.uniform(0.5, 1.5, states))
    shape.plain(at + "ssm_a", -shape.random.uniform(0.1, 0.5, states))  # negative: the state decays
    shape.matrix(at + "ssm_beta.weight", states, width, "Q8_0")
    shape.matrix(at + "ssm_alpha.weight", states, width, "Q8_0")
    shape.ones(at + "ssm_norm.weight", state)
    shape.matrix(at + "ssm_out.weight", width, inner, "Q8_0")


def make_qwen3_4b(path):
    make_qwen3(path, width=2560, layers=36, wide=9728, heads=32)


def make_qwen3_f16(path):
    make_qwen3(path, kind="F16")


def make_qwen3_bf16(path):
    make_qwen3(path, kind="BF16")


MAKERS = {"qwen3-0.6b": make_qwen3, "qwen3-4b": make_qwen3_4b, "qwen3-moe": make_qwen3_moe, "qwen3-0.6b-f16": make_qwen3_f16,
          "qwen3-0.6b-bf16": make_qwen3_bf16, "qwen3.5-0.8b": make_qwen35}
LARGE = ("qwen3-4b", "qwen3-moe", "qwen3-0.6b-f16", "qwen3-0.6b-bf16")  # made only when it is named


def make(name):
    """Makes the file unless it is there; what is interrupted leaves only a .part behind."""
    path = path_of(name)
    if not os.path.exists(path):
        os.makedirs(FOLDER, exist_ok=True)
        MAKERS[name](path + ".part")
        os.replace(path + ".part", path)
    return path


def main():
    names = sys.argv[1:] or [name for name in MAKERS if name not in LARGE]
    unknown = [name for name in names if name not in MAKERS]
    if unknown:
        sys.exit(f"make_shapes: no shape {unknown[0]!r}; there are: {', '.join(MAKERS)}")
    for name in names:
        print(make(name))


if __name__ == "__main__":
    main()
