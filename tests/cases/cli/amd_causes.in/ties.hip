// A wave looks for the first greatest element, and counts the elements above a number. With WRONG, ties go to
// the last one, and the number is greater.

static __device__ __forceinline__ int lane_id()
{
    return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
}

extern "C" __global__ void argmax(const int *x, int *y)
{
    int lane = lane_id();
    int best = -1, at = 0;
    for (int i = lane; i < 128; i += 32) {
        if (x[i] > best) {
            best = x[i];
            at = i;
        }
    }
    for (int d = 16; d > 0; d /= 2) {
        int other = __shfl_down_sync(~0u, best, d);
        int from = __shfl_down_sync(~0u, at, d);
        if (other > best || (other == best && (WRONG ? from > at : from < at))) {
            best = other;
            at = from;
        }
    }
    if (lane == 0) y[blockIdx.x] = at;
}

extern "C" __global__ void votes(const int *x, int *y)
{
    int above = x[threadIdx.x] > (WRONG ? 6 : 5);
    unsigned long long lanes = __builtin_amdgcn_ballot_w64(above);
    if (lane_id() == 0) y[threadIdx.x / warpSize] = __popcll(lanes);
}

extern "C" __global__ void rank(const int *x, int *y)
{
    int below = __builtin_amdgcn_mbcnt_lo(__builtin_amdgcn_read_exec_lo(), 0u);
    if (x[threadIdx.x] == 1) y[0] = below;
}
