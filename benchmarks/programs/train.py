"""PyTorch: training steps of a transformer on the stream-ordered allocator.

Batches of four lengths come over on a stream of their own while the step before still computes.
"""

import os

os.environ.setdefault("PYTORCH_CUDA_ALLOC_CONF", "backend:cudaMallocAsync")

import torch
from torch import nn

import poolbench

WARM_UP, STEPS = 6, 24
WIDTH, LAYERS, BATCH = 1024, 6, 16
LENGTHS = (512, 384, 448, 320)


def main() -> None:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(WIDTH, 16, 4 * WIDTH, dropout=0.0, batch_first=True)
    model = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False).cuda()
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4)
    host = [torch.randn(BATCH, length, WIDTH).pin_memory() for length in LENGTHS]
    loading = torch.cuda.Stream()
    computing = torch.cuda.current_stream()

    def load(index: int) -> torch.Tensor:
        with torch.cuda.stream(loading):
            return host[index % len(host)].cuda(non_blocking=True)

    def step(index: int, batch: torch.Tensor) -> torch.Tensor:
        computing.wait_stream(loading)
        batch.record_stream(computing)
        following = load(index + 1)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(batch).float().square().mean()
        loss.backward()
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        return following

    batch = load(0)
    for index in range(WARM_UP):
        batch = step(index, batch)
    torch.cuda.synchronize()
    for index in range(WARM_UP, WARM_UP + STEPS):
        with poolbench.record():
            batch = step(index, batch)
    torch.cuda.synchronize()


if __name__ == "__main__":
    main()
