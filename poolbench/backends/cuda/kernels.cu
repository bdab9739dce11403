// The kernels of poolbench.  Times are nanoseconds of %globaltimer (32 ns steps on an H200).
// `stamp`, where not null, is two words in device memory: begin (set to all ones before the run)
// takes the first block's start, end (set to 0) the last block's end.

typedef unsigned long long u64;
typedef unsigned int u32;

__device__ __forceinline__ u64 now() {
  u64 t;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
  return t;
}

__device__ __forceinline__ void begin(u64* stamp, u64 t) {
  if (stamp && threadIdx.x == 0) atomicMin(stamp, t);
}

__device__ __forceinline__ void end(u64* stamp) {
  if (!stamp) return;
  __syncthreads();
  if (threadIdx.x == 0) atomicMax(stamp + 1, now());
}

extern "C" __global__ void spin(u64* stamp, u64 ns) {
  u64 t0 = now();
  begin(stamp, t0);
  while (now() - t0 < ns) {
  }
  end(stamp);
}

extern "C" __global__ void touch(u64* stamp, u64* sink, u32 n_reads, u32 n_writes,
    const uint4* r0, u64 rn0, const uint4* r1, u64 rn1, const uint4* r2, u64 rn2, const uint4* r3, u64 rn3,
    const uint4* r4, u64 rn4, const uint4* r5, u64 rn5, const uint4* r6, u64 rn6, const uint4* r7, u64 rn7,
    uint4* w0, u64 wn0, uint4* w1, u64 wn1, uint4* w2, u64 wn2, uint4* w3, u64 wn3,
    uint4* w4, u64 wn4, uint4* w5, u64 wn5, uint4* w6, u64 wn6, uint4* w7, u64 wn7) {
  begin(stamp, now());
  const uint4* reads[8] = {r0, r1, r2, r3, r4, r5, r6, r7};
  const u64 read_bytes[8] = {rn0, rn1, rn2, rn3, rn4, rn5, rn6, rn7};
  uint4* writes[8] = {w0, w1, w2, w3, w4, w5, w6, w7};
  const u64 write_bytes[8] = {wn0, wn1, wn2, wn3, wn4, wn5, wn6, wn7};
  const u64 first = blockIdx.x * (u64)blockDim.x + threadIdx.x, stride = (u64)gridDim.x * blockDim.x;
  u32 all = 0;
#pragma unroll
  for (u32 b = 0; b < 8; ++b) {
    if (b >= n_reads) break;
    const uint4* p = reads[b];
    const u64 n = read_bytes[b] / 16;
    u64 i = first;
    for (; i + 3 * stride < n; i += 4 * stride) {
      uint4 x = p[i], y = p[i + stride], z = p[i + 2 * stride], w = p[i + 3 * stride];
      all |= x.x ^ x.y ^ x.z ^ x.w ^ y.x ^ y.y ^ y.z ^ y.w ^ z.x ^ z.y ^ z.z ^ z.w ^ w.x ^ w.y ^ w.z ^ w.w;
    }
    for (; i < n; i += stride) {
      uint4 x = p[i];
      all |= x.x ^ x.y ^ x.z ^ x.w;
    }
    const unsigned char* tail = (const unsigned char*)(p + n);
    if (first < read_bytes[b] % 16) all |= tail[first];
  }
#pragma unroll
  for (u32 b = 0; b < 8; ++b) {
    if (b >= n_writes) break;
    uint4* p = writes[b];
    const u64 n = write_bytes[b] / 16;
    const u32 v = (u32)(first + b) | 1u;
    for (u64 i = first; i < n; i += stride) p[i] = make_uint4(v, v, v, v);
    unsigned char* tail = (unsigned char*)(p + n);
    if (first < write_bytes[b] % 16) tail[first] = (unsigned char)v;
  }
  if (all == 0x9e3779b9u && first == ~0ull) sink[0] = all;  // never true: keeps the reads alive
  end(stamp);
}

extern "C" __global__ void compute(u64* stamp, u64* sink, u64 rounds) {
  begin(stamp, now());
  float a = threadIdx.x * 1e-3f, b = a + 1, c = a + 2, d = a + 3, e = a + 4, f = a + 5, g = a + 6, h = a + 7;
  const float m = 0.9999f, k = 1e-4f;
  for (u64 i = 0; i < rounds; ++i) {  // 8 fused multiply-adds: 16 operations
    a = fmaf(a, m, k); b = fmaf(b, m, k); c = fmaf(c, m, k); d = fmaf(d, m, k);
    e = fmaf(e, m, k); f = fmaf(f, m, k); g = fmaf(g, m, k); h = fmaf(h, m, k);
  }
  if (a + b + c + d + e + f + g + h == -1.0f) sink[0] = 1;  // never true: keeps the work alive
  end(stamp);
}

__device__ __forceinline__ u64 pattern(u64 seed, u64 i) {
  u64 x = i * 0x9e3779b97f4a7c15ull + seed * 0xbf58476d1ce4e5b9ull + 0x94d049bb133111ebull;
  x ^= x >> 29;
  return x * 0xff51afd7ed558ccdull;
}

extern "C" __global__ void fill(u64* stamp, u64* p, u64 size, u64 seed) {
  begin(stamp, now());
  const u64 first = blockIdx.x * (u64)blockDim.x + threadIdx.x, stride = (u64)gridDim.x * blockDim.x;
  for (u64 i = first; i < size / 8; i += stride) p[i] = pattern(seed, i);
  if (first < size % 8) {
    ((unsigned char*)p)[size / 8 * 8 + first] = (unsigned char)(pattern(seed, size / 8) >> (8 * first));
  }
  end(stamp);
}

extern "C" __global__ void check(u64* stamp, const u64* p, u64 size, u64 seed, u64* n_different) {
  begin(stamp, now());
  const u64 first = blockIdx.x * (u64)blockDim.x + threadIdx.x, stride = (u64)gridDim.x * blockDim.x;
  u64 bad = 0;
  for (u64 i = first; i < size / 8; i += stride) {
    u64 x = p[i] ^ pattern(seed, i);
    for (u32 b = 0; x && b < 8; ++b, x >>= 8) bad += (x & 255) != 0;
  }
  if (first < size % 8) {
    unsigned char want = (unsigned char)(pattern(seed, size / 8) >> (8 * first));
    bad += ((const unsigned char*)p)[size / 8 * 8 + first] != want;
  }
  if (bad) atomicAdd(n_different, bad);
  end(stamp);
}

// Answers `n` pings of the host with the device's time; gives up after `limit` ns.
extern "C" __global__ void ping(volatile u32* request, volatile u64* answer, u32 n, u64 limit) {
  const u64 t0 = now();
  for (u32 i = 1; i <= n; ++i) {
    while (*request < i) {
      if (now() - t0 > limit) return;
    }
    answer[0] = now();
    __threadfence_system();
    answer[1] = i;
  }
}
