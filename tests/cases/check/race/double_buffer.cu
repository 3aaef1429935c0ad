// Two buffers in turn, with a barrier in every second round only: the next round's tile is read before it is there.
extern "C" __global__ void double_buffer(const int *in, int *out)
{
    __shared__ int tile[2][64];
    int t = threadIdx.x, sum = 0;
    tile[0][t] = in[t];
    __syncthreads();
#pragma unroll 1
    for (int round = 0; round < 3; ++round) {
        int now = round & 1;
        tile[now ^ 1][t] = in[64 * round + 64 + t]; // FAULT
#ifdef FIXED
        __syncthreads();
#else
        if (now == 0)
            __syncthreads();
#endif
        sum += tile[now][t ^ 32]; // OTHER
#ifdef FIXED
        __syncthreads();
#else
        if (now == 0)
            __syncthreads();
#endif
    }
    out[t] = sum;
}
