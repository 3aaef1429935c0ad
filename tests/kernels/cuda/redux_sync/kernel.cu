// corpus: keep sm_90a
// Warp-wide reductions in one instruction (redux.sync): add, min, max, and, or, xor, over whole and partial warps.
extern "C" __global__ void redux_sync(const int *x, int *out)
{
    int v = x[blockIdx.x * 32 + threadIdx.x], lane = threadIdx.x;
    int r[6];
    r[0] = __reduce_add_sync(0xffffffffu, v);
    r[1] = __reduce_min_sync(0xffffffffu, v);
    r[2] = (int)__reduce_max_sync(0xffffffffu, (unsigned)v);
    r[3] = (int)__reduce_and_sync(0xffffffffu, (unsigned)v | 0xff);
    r[4] = (int)__reduce_xor_sync(0xffffffffu, (unsigned)v);
    if (lane < 10)
        r[5] = (int)__reduce_or_sync(0x000003ffu, (unsigned)v);
    else
        r[5] = __reduce_max_sync(0xfffffc00u, v);
    for (int k = 0; k < 6; ++k)
        out[(blockIdx.x * 32 + lane) * 6 + k] = r[k];
}
