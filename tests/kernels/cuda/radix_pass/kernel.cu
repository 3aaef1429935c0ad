// Stable sort of 256 key-value pairs a CTA by the key's low byte: eight one-bit splits with ballots.
extern "C" __global__ void radix_pass(unsigned *keys, unsigned *values)
{
    __shared__ unsigned skey[256], sval[256], zeros[8];
    unsigned t = threadIdx.x, lane = t & 31, warp = t >> 5;
    unsigned key = keys[blockIdx.x * 256 + t], value = values[blockIdx.x * 256 + t];
    for (int bit = 0; bit < 8; ++bit) {
        bool one = key >> bit & 1;
        unsigned mask = __ballot_sync(0xffffffffu, !one);
        if (lane == 0)
            zeros[warp] = __popc(mask);
        __syncthreads();
        unsigned before = 0, total = 0;
        for (unsigned w = 0; w < 8; ++w) {
            before += w < warp ? zeros[w] : 0;
            total += zeros[w];
        }
        unsigned rank = before + __popc(mask & ((1u << lane) - 1));
        unsigned to = one ? total + t - rank : rank;
        skey[to] = key;
        sval[to] = value;
        __syncthreads();
        key = skey[t];
        value = sval[t];
    }
    keys[blockIdx.x * 256 + t] = key;
    values[blockIdx.x * 256 + t] = value;
}
