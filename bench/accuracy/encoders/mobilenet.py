"""The first blocks of an ImageNet MobileNetV2, with NumPy.

The model inside npm's nsfwjs, frozen at ImageNet weights up to block 10; here up to block 6's expansion.
Image 28 x 28 -> 56 x 56 bilinear, three equal channels -> 7 x 7 x 192 -> averages on an overlapping 2 x 2 grid -> 768.
Arrays are images x height x width x channels.
"""
import numpy as np

import tfjs_weights

# name, stride, whether it expands, whether its input is added to its output
BLOCKS = [("expanded_conv", 1, False, False), ("block_1", 2, True, False), ("block_2", 1, True, True),
          ("block_3", 2, True, False), ("block_4", 1, True, True), ("block_5", 1, True, True)]


def relu6(x):
    return np.clip(x, 0, 6, out=x)


class Encoder:
    def __init__(self, node_modules):
        model = tfjs_weights.from_modules(node_modules + "/nsfwjs/dist/models/mobilenet_v2")
        self.weights = tfjs_weights.tensors(*model)

    def normalized(self, kernel, norm, channel_axis):
        """Kernel and shift with the batch normalization that follows: (k x - mean) gamma / sqrt(var + 1e-3) + beta."""
        w = self.weights
        scale = w[norm + "/gamma"] / np.sqrt(w[norm + "/moving_variance"] + np.float32(1e-3))
        shape = [1] * w[kernel].ndim
        shape[channel_axis] = -1
        return w[kernel] * scale.reshape(shape), w[norm + "/beta"] - w[norm + "/moving_mean"] * scale

    def pointwise(self, x, name):
        kernel, shift = self.normalized(name + "/kernel", name + "_BN", 3)
        return x @ kernel[0, 0] + shift

    def depthwise(self, x, name, stride):
        kernel, shift = self.normalized(name + "/depthwise_kernel", name + "_BN", 2)
        before = 1 if stride == 1 else 0  # stride 2 pads below and to the right only
        side = x.shape[1] // stride
        x = np.pad(x, ((0, 0), (before, 1), (before, 1), (0, 0)))
        span = stride * (side - 1) + 1
        y = np.broadcast_to(shift, (len(x), side, side, len(shift))).copy()
        for i in range(3):
            for j in range(3):
                y += x[:, i:i + span:stride, j:j + span:stride] * kernel[i, j, :, 0]
        return relu6(y)

    def first(self, x):  # 3 x 3 convolution, stride 2, of three equal channels: of one, with their kernels' sum
        kernel, shift = self.normalized("Conv1/kernel", "bn_Conv1", 3)
        kernel = kernel.sum(axis=2)
        side = x.shape[1] // 2
        x = np.pad(x, ((0, 0), (0, 1), (0, 1)))
        span = 2 * side - 1
        taps = np.stack([x[:, i:i + span:2, j:j + span:2] for i in range(3) for j in range(3)], axis=-1)
        return relu6(taps @ kernel.reshape(9, -1) + shift)

    def __call__(self, x):
        x = self.first(x)
        for name, stride, expands, adds in BLOCKS:
            y = relu6(self.pointwise(x, name + "_expand")) if expands else x
            y = self.pointwise(self.depthwise(y, name + "_depthwise", stride), name + "_project")
            x = x + y if adds else y
        return relu6(self.pointwise(x, "block_6_expand"))


def bilinear(side, to):
    """U with U a U^T the image a, side x side, at to x to, corners not aligned."""
    at = np.clip((np.arange(to) + 0.5) * side / to - 0.5, 0, side - 1)
    low = np.minimum(at.astype(int), side - 2)
    u = np.zeros((to, side), np.float32)
    u[np.arange(to), low] = 1 - (at - low)
    u[np.arange(to), low + 1] = at - low
    return u


def features(encoder, images):
    """n x 28 x 28 images of 0 to 255 -> n x 768."""
    u, rows = bilinear(28, 56), []
    for start in range(0, len(images), 50):
        block = u @ (images[start:start + 50].astype(np.float32) / 255) @ u.T
        grid = encoder(block)
        cells = [grid[:, i:i + 4, j:j + 4].mean(axis=(1, 2)) for i in (0, 3) for j in (0, 3)]
        rows.append(np.stack(cells, axis=-1).reshape(len(block), -1))  # channel by channel
        if start % 10000 == 0:
            print(f"   {start} of {len(images)} images", flush=True)
    return np.concatenate(rows)
