#!/usr/bin/env python3
"""Makes tiny random GGUFs for the tests: make_tiny.py LLAMA_DIR OUT_DIR (needs the packages of tests/requirements.txt)

Real vocabulary (GPT-2's, from llama.cpp's models folder), random weights, a few layers: small enough to load in a blink and, because every
weight is drawn from a fixed seed, the same file on every machine.

  tiny-attention.gguf   qwen3: attention only
  tiny-hybrid.gguf      qwen35: recurrent layers with attention between them
  tiny-window.gguf      gemma3: every second layer sees the last 48 rows only
  tiny-experts.gguf     qwen3moe: two of four experts for each row
  tiny-split-0000?-of-00003.gguf   tiny-attention in three files
  tiny-head.gguf        tiny-attention with a decision head's metadata (openjev: letters read by llama.cpp's own decision code)
  tiny-nan.gguf         tiny-attention with a NaN in a weight
  tiny-mmproj.gguf      a projector (LLaVA's kind) for all of these: 64 rows for any image
  tiny-infill.gguf      tiny-attention with tokens for filling in
  tiny-embed.gguf       tiny-attention that pools its outputs: an embedding model
  tiny-rerank.gguf      tiny-attention with a reranker's head: yes or no
  embedding.gguf        says that it pools its outputs
  encoder.gguf          says that it is a BERT
  adapter.gguf          says that it is a LoRA adapter
"""

import os
import sys

import gguf
import numpy

SEED = 20261129
WIDTH, LAYERS, FEED_FORWARD, HEADS, KEY_VALUE_HEADS, HEAD_SIZE = 64, 4, 128, 4, 2, 16
WINDOW, EXPERTS, EXPERTS_USED = 48, 4, 2
IMAGE_SIDE, PATCH_SIDE, SIGHT_WIDTH, SIGHT_LAYERS, SIGHT_FEED_FORWARD = 64, 8, 32, 3, 96
STATE_SIZE, RECURRENT_HEADS, CONVOLUTION = 16, 4, 4
CHATML = (
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
SYSTEM_ONE = (
    "{% for image in images %}{{ image }}\n{% endfor %}{{ state | tojson }}\n{{ instructions }}\n{% for option in options %}{{ option.label if option.label else option.key }}: "
    "{{ option.key }}\n{% endfor %}Answer:"
)
RERANK = "{query}\n{document}\n"


def copy_vocabulary(writer, llama_dir):
    """GPT-2's tokens with ChatML's two control tokens behind them; returns the number of tokens."""
    reader = gguf.GGUFReader(os.path.join(llama_dir, "models", "ggml-vocab-gpt-2.gguf"))
    content = {name: field.contents() for name, field in reader.fields.items() if name.startswith("tokenizer.")}
    tokens = list(content["tokenizer.ggml.tokens"]) + ["<|im_start|>", "<|im_end|>"]
    types = list(content["tokenizer.ggml.token_type"]) + [gguf.TokenType.CONTROL] * 2
    writer.add_tokenizer_model(content["tokenizer.ggml.model"])
    writer.add_tokenizer_pre(content["tokenizer.ggml.pre"])
    writer.add_token_list(tokens)
    writer.add_token_types([int(kind) for kind in types])
    writer.add_token_merges(content["tokenizer.ggml.merges"])
    writer.add_eos_token_id(tokens.index("<|im_end|>"))
    writer.add_bos_token_id(tokens.index("<|endoftext|>"))
    writer.add_add_bos_token(False)
    return len(tokens)


class Model:
    """One GGUF under construction."""

    def __init__(self, path, architecture, llama_dir, file_tensors=0):
        self.writer = gguf.GGUFWriter(path, architecture, split_max_tensors=file_tensors)
        self.architecture = architecture
        self.random = numpy.random.default_rng(SEED)
        self.tokens = copy_vocabulary(self.writer, llama_dir)
        for key, number in {
            "context_length": 4096, "embedding_length": WIDTH, "block_count": LAYERS, "feed_forward_length": FEED_FORWARD,
            "attention.head_count": HEADS, "attention.head_count_kv": KEY_VALUE_HEADS, "attention.key_length": HEAD_SIZE,
            "attention.value_length": HEAD_SIZE,
        }.items():
            self.number(key, number)
        self.writer.add_float32(f"{architecture}.attention.layer_norm_rms_epsilon", 1e-6)
        self.writer.add_float32(f"{architecture}.rope.freq_base", 10000.0)

    def number(self, key, number):
        self.writer.add_uint32(f"{self.architecture}.{key}", number)

    def matrix(self, name, rows, columns, gain=1.0):
        numbers = self.random.standard_normal((rows, columns), dtype=numpy.float32) * numpy.float32(gain / columns**0.5)
        self.writer.add_tensor(name, numbers)
        return numbers

    def experts(self, name, rows, columns):
        numbers = self.random.standard_normal((EXPERTS, rows, columns), dtype=numpy.float32) / numpy.float32(columns**0.5)
        self.writer.add_tensor(name, numbers)

    def vector(self, name, numbers):
        self.writer.add_tensor(name, numpy.asarray(numbers, dtype=numpy.float32))

    def ones(self, name, count):
        self.vector(name, numpy.ones(count))

    def frame(self):
        self.matrix("token_embd.weight", self.tokens, WIDTH, gain=3.0)
        self.ones("output_norm.weight", WIDTH)

    def feed_forward(self, prefix):
        self.matrix(prefix + "ffn_gate.weight", FEED_FORWARD, WIDTH)
        self.matrix(prefix + "ffn_up.weight", FEED_FORWARD, WIDTH)
        self.matrix(prefix + "ffn_down.weight", WIDTH, FEED_FORWARD)

    def attention(self, prefix, query_gate):
        self.matrix(prefix + "attn_q.weight", HEADS * HEAD_SIZE * (2 if query_gate else 1), WIDTH, gain=2.0)
        self.matrix(prefix + "attn_k.weight", KEY_VALUE_HEADS * HEAD_SIZE, WIDTH, gain=2.0)
        self.matrix(prefix + "attn_v.weight", KEY_VALUE_HEADS * HEAD_SIZE, WIDTH)
        self.matrix(prefix + "attn_output.weight", WIDTH, HEADS * HEAD_SIZE)
        self.ones(prefix + "attn_q_norm.weight", HEAD_SIZE)
        self.ones(prefix + "attn_k_norm.weight", HEAD_SIZE)

    def close(self):
        self.writer.write_header_to_file()
        self.writer.write_kv_data_to_file()
        self.writer.write_tensors_to_file()
        self.writer.close()


def attention_model(path, llama_dir, broken=False, head=False, pooling=None, file_tensors=0, infill=False):
    model = Model(path, "qwen3", llama_dir, file_tensors)
    if infill:
        for i, name in enumerate(("pre", "suf", "mid")):
            model.writer.add_uint32(f"tokenizer.ggml.fim_{name}_token_id", model.tokens - 3 + i)
    if pooling is not None:
        model.number("pooling_type", pooling)
    if pooling == gguf.PoolingType.RANK:
        model.writer.add_chat_template([{"name": "default", "template": CHATML}, {"name": "rerank", "template": RERANK}])
    elif head:
        model.writer.add_string("qwen3.decision.type", "openjev")
        model.writer.add_chat_template([{"name": "default", "template": CHATML}, {"name": "systemone", "template": SYSTEM_ONE}])
    else:
        model.writer.add_chat_template(CHATML)
    model.frame()
    for layer in range(LAYERS):
        prefix = f"blk.{layer}."
        model.ones(prefix + "attn_norm.weight", WIDTH)
        model.ones(prefix + "ffn_norm.weight", WIDTH)
        model.attention(prefix, query_gate=False)
        model.feed_forward(prefix)
    if pooling == gguf.PoolingType.RANK:
        model.matrix("cls.output.weight", 2, WIDTH, gain=0.1)
        model.writer.add_classifier_output_labels(["yes", "no"])
    if broken:
        last = model.writer.tensors[-1][f"blk.{LAYERS - 1}.ffn_down.weight"].tensor
        last[0, 0] = numpy.nan
    model.close()


def window_model(path, llama_dir):
    model = Model(path, "gemma3", llama_dir)
    model.writer.add_chat_template(CHATML)
    model.number("attention.sliding_window", WINDOW)
    model.number("attention.sliding_window_pattern", 2)
    model.frame()
    for layer in range(LAYERS):
        prefix = f"blk.{layer}."
        for norm in ("attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm"):
            model.ones(f"{prefix}{norm}.weight", WIDTH)
        model.attention(prefix, query_gate=False)
        model.feed_forward(prefix)
    model.close()


def experts_model(path, llama_dir):
    model = Model(path, "qwen3moe", llama_dir)
    model.writer.add_chat_template(CHATML)
    for key, number in {"expert_count": EXPERTS, "expert_used_count": EXPERTS_USED, "expert_feed_forward_length": FEED_FORWARD}.items():
        model.number(key, number)
    model.frame()
    for layer in range(LAYERS):
        prefix = f"blk.{layer}."
        model.ones(prefix + "attn_norm.weight", WIDTH)
        model.ones(prefix + "ffn_norm.weight", WIDTH)
        model.attention(prefix, query_gate=False)
        model.matrix(prefix + "ffn_gate_inp.weight", EXPERTS, WIDTH, gain=2.0)
        model.experts(prefix + "ffn_gate_exps.weight", FEED_FORWARD, WIDTH)
        model.experts(prefix + "ffn_up_exps.weight", FEED_FORWARD, WIDTH)
        model.experts(prefix + "ffn_down_exps.weight", WIDTH, FEED_FORWARD)
    model.close()


def hybrid_model(path, llama_dir):
    model = Model(path, "qwen35", llama_dir)
    model.writer.add_chat_template(CHATML)
    model.writer.add_array("qwen35.rope.dimension_sections", [3, 3, 2, 0])
    for key, number in {
        "rope.dimension_count": HEAD_SIZE, "ssm.conv_kernel": CONVOLUTION, "ssm.inner_size": RECURRENT_HEADS * STATE_SIZE,
        "ssm.state_size": STATE_SIZE, "ssm.time_step_rank": RECURRENT_HEADS, "ssm.group_count": RECURRENT_HEADS, "full_attention_interval": 2,
    }.items():
        model.number(key, number)
    model.frame()
    wide = RECURRENT_HEADS * STATE_SIZE
    for layer in range(LAYERS):
        prefix = f"blk.{layer}."
        model.ones(prefix + "attn_norm.weight", WIDTH)
        model.ones(prefix + "post_attention_norm.weight", WIDTH)
        if layer % 2 == 1:
            model.attention(prefix, query_gate=True)
        else:
            model.matrix(prefix + "attn_qkv.weight", 3 * wide, WIDTH)
            model.matrix(prefix + "attn_gate.weight", wide, WIDTH)
            model.matrix(prefix + "ssm_conv1d.weight", 3 * wide, CONVOLUTION)
            model.vector(prefix + "ssm_dt.bias", model.random.uniform(0.5, 1.5, RECURRENT_HEADS))
            model.vector(prefix + "ssm_a", -model.random.uniform(0.1, 0.5, RECURRENT_HEADS))
            model.matrix(prefix + "ssm_beta.weight", RECURRENT_HEADS, WIDTH)
            model.matrix(prefix + "ssm_alpha.weight", RECURRENT_HEADS, WIDTH)
            model.ones(prefix + "ssm_norm.weight", STATE_SIZE)
            model.matrix(prefix + "ssm_out.weight", WIDTH, wide)
        model.feed_forward(prefix)
    model.close()


def projector(path):
    """LLaVA's graph leaves the last layer out, so the file has one more than is computed."""
    writer = gguf.GGUFWriter(path, "clip")
    random = numpy.random.default_rng(SEED + 1)
    writer.add_string("general.type", "mmproj")
    writer.add_clip_has_vision_encoder(True)
    writer.add_clip_projector_type("mlp")
    writer.add_vision_image_size(IMAGE_SIDE)
    writer.add_vision_patch_size(PATCH_SIDE)
    writer.add_vision_embedding_length(SIGHT_WIDTH)
    writer.add_vision_feed_forward_length(SIGHT_FEED_FORWARD)
    writer.add_vision_block_count(SIGHT_LAYERS)
    writer.add_vision_projection_dim(WIDTH)
    writer.add_vision_head_count(2)
    writer.add_vision_attention_layernorm_eps(1e-5)
    writer.add_vision_image_mean([0.5, 0.5, 0.5])
    writer.add_vision_image_std([0.5, 0.5, 0.5])
    writer.add_vision_use_gelu(True)

    def tensor(name, *shape, gain=1.0):
        inputs = numpy.prod(shape[1:])
        writer.add_tensor(name, random.standard_normal(shape, dtype=numpy.float32) * numpy.float32(gain / inputs**0.5))

    def vector(name, size, value):
        writer.add_tensor(name, numpy.full(size, value, dtype=numpy.float32))

    tensor("v.patch_embd.weight", SIGHT_WIDTH, 3, PATCH_SIDE, PATCH_SIDE, gain=2.0)
    tensor("v.position_embd.weight", (IMAGE_SIDE // PATCH_SIDE) ** 2, SIGHT_WIDTH)
    for layer in range(SIGHT_LAYERS):
        prefix = f"v.blk.{layer}."
        for norm in ("ln1", "ln2"):
            vector(prefix + norm + ".weight", SIGHT_WIDTH, 1)
            vector(prefix + norm + ".bias", SIGHT_WIDTH, 0)
        for part in ("attn_q", "attn_k", "attn_v", "attn_out"):
            tensor(f"{prefix}{part}.weight", SIGHT_WIDTH, SIGHT_WIDTH)
            vector(f"{prefix}{part}.bias", SIGHT_WIDTH, 0)
        tensor(prefix + "ffn_up.weight", SIGHT_FEED_FORWARD, SIGHT_WIDTH)
        vector(prefix + "ffn_up.bias", SIGHT_FEED_FORWARD, 0)
        tensor(prefix + "ffn_down.weight", SIGHT_WIDTH, SIGHT_FEED_FORWARD)
        vector(prefix + "ffn_down.bias", SIGHT_WIDTH, 0)
    tensor("mm.0.weight", WIDTH, SIGHT_WIDTH, gain=2.0)
    vector("mm.0.bias", WIDTH, 0)
    tensor("mm.2.weight", WIDTH, WIDTH, gain=2.0)
    vector("mm.2.bias", WIDTH, 0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def refused_model(path, llama_dir, architecture, change):
    model = Model(path, architecture, llama_dir)
    change(model.writer)
    model.frame()
    model.close()


def main():
    llama_dir, out_dir = sys.argv[1:3]
    os.makedirs(out_dir, exist_ok=True)

    def at(name):
        return os.path.join(out_dir, name)

    attention_model(at("tiny-attention.gguf"), llama_dir)
    attention_model(at("tiny-split.gguf"), llama_dir, file_tensors=20)
    attention_model(at("tiny-nan.gguf"), llama_dir, broken=True)
    attention_model(at("tiny-head.gguf"), llama_dir, head=True)
    hybrid_model(at("tiny-hybrid.gguf"), llama_dir)
    window_model(at("tiny-window.gguf"), llama_dir)
    experts_model(at("tiny-experts.gguf"), llama_dir)
    projector(at("tiny-mmproj.gguf"))
    attention_model(at("tiny-infill.gguf"), llama_dir, infill=True)
    attention_model(at("tiny-embed.gguf"), llama_dir, pooling=gguf.PoolingType.LAST)
    attention_model(at("tiny-rerank.gguf"), llama_dir, pooling=gguf.PoolingType.RANK)
    refused_model(at("embedding.gguf"), llama_dir, "qwen3", lambda writer: writer.add_uint32("qwen3.pooling_type", 3))
    refused_model(at("encoder.gguf"), llama_dir, "bert", lambda writer: None)
    refused_model(at("adapter.gguf"), llama_dir, "qwen3", lambda writer: writer.add_string("general.type", "adapter"))


if __name__ == "__main__":
    main()
