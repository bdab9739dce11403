"""PyTorch: a decoder writes token after token, and its cache of keys and values grows with each.

Every token makes each layer's cache anew, a little larger, on the stream-ordered allocator.
"""

import os

os.environ.setdefault("PYTORCH_CUDA_ALLOC_CONF", "backend:cudaMallocAsync")

import torch
from torch import Tensor, nn
from torch.nn import functional

import poolbench

WARM_UP, TOKENS = 16, 192
WIDTH, HEADS, LAYERS, BATCH, PROMPT = 2048, 16, 12, 16, 512


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.wide = nn.Linear(WIDTH, 4 * WIDTH)
        self.narrow = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        parts = self.attention(x).view(BATCH, 1, 3, HEADS, WIDTH // HEADS)
        query, key, value = (part.transpose(1, 2) for part in parts.unbind(2))
        keys, values = torch.cat((keys, key), 2), torch.cat((values, value), 2)
        seen = functional.scaled_dot_product_attention(query, keys, values)
        x = x + self.out(seen.transpose(1, 2).reshape(BATCH, 1, WIDTH))
        return x + self.narrow(functional.gelu(self.wide(x))), keys, values


@torch.inference_mode()
def main() -> None:
    torch.manual_seed(0)
    kind = {"device": "cuda", "dtype": torch.bfloat16}
    layers = [Layer().to(**kind) for _ in range(LAYERS)]
    shape = (BATCH, HEADS, PROMPT, WIDTH // HEADS)
    cache = [(torch.randn(shape, **kind), torch.randn(shape, **kind)) for _ in layers]
    x = torch.randn(BATCH, 1, WIDTH, **kind)

    def token(x: Tensor) -> Tensor:
        for index, layer in enumerate(layers):
            x, *grown = layer(x, *cache[index])
            cache[index] = (grown[0], grown[1])
        return functional.layer_norm(x, (WIDTH,))

    for _ in range(WARM_UP):
        x = token(x)
    torch.cuda.synchronize()
    for _ in range(TOKENS):
        with poolbench.record():
            x = token(x)
    torch.cuda.synchronize()


if __name__ == "__main__":
    main()
