// corpus: keep sm_90a
// Causal attention forward, a warp a query: running maximum and sum, one key at a time, head dimension 64.
extern "C" __global__ void attention(const float *q, const float *k, const float *v, float *out, int length,
                                     float scale)
{
    int head = blockIdx.y, query = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (query >= length)
        return;
    size_t base = (size_t)head * length * 64;
    float2 mine = reinterpret_cast<const float2 *>(q + base + query * 64)[lane];
    float most = -INFINITY, sum = 0.0f;
    float2 acc = make_float2(0.0f, 0.0f);
    for (int j = 0; j <= query; ++j) {
        float2 key = reinterpret_cast<const float2 *>(k + base + j * 64)[lane];
        float dot = mine.x * key.x + mine.y * key.y;
        for (int d = 16; d; d >>= 1)
            dot += __shfl_xor_sync(0xffffffffu, dot, d);
        dot *= scale;
        float now = fmaxf(most, dot), old = __expf(most - now), weight = __expf(dot - now);
        float2 value = reinterpret_cast<const float2 *>(v + base + j * 64)[lane];
        acc.x = acc.x * old + weight * value.x;
        acc.y = acc.y * old + weight * value.y;
        sum = sum * old + weight;
        most = now;
    }
    reinterpret_cast<float2 *>(out + base + query * 64)[lane] = make_float2(acc.x / sum, acc.y / sum);
}
