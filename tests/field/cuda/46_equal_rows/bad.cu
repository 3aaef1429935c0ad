__device__ __forceinline__ void larger(float &v, int &i, float w, int j) {
    bool take = w > v || (w == v && j < i);
    v = take ? w : v;
    i = take ? j : i;
}
extern "C" __global__ void topk(const float *scores, float *values, int *indices, int columns) {
    int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    int row = blockIdx.x * 4 + warp;
    const float *line = scores + row * columns;
    unsigned taken = 0;
    for (int k = 0; k < 4; k++) {
        float best = 0.9f;
        int at = 1 << 30;
        for (int c = lane, bit = 0; c < columns; c += 32, bit++)
            if (!(taken >> bit & 1))
                larger(best, at, line[c], c);
        for (int d = 16; d; d >>= 1) {
            float v = __shfl_xor_sync(0xffffffffu, best, d);
            int i = __shfl_xor_sync(0xffffffffu, at, d);
            larger(best, at, v, i);
        }
        if ((at & 31) == lane)
            taken |= 1u << (at >> 5);
        if (lane == 0) {
            values[row * 4 + k] = best;
            indices[row * 4 + k] = at;
        }
    }
}
