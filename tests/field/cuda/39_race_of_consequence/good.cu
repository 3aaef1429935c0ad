extern "C" __global__ void compact(const int *in, int *out, int *count, int n)
{
    __shared__ int warp_base[4];
    __shared__ int block_base;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int lane = threadIdx.x & 31;
    const int wid = threadIdx.x >> 5;
    const int v = i < n ? in[i] : 0;
    const bool keep = i < n && (v & 3) == 1;
    const unsigned ballot = __ballot_sync(~0u, keep);
    if (lane == 0)
        warp_base[wid] = __popc(ballot);
    __syncthreads();
    if (threadIdx.x == 0) {
        int sum = 0;
        for (int w = 0; w < 4; w++) {
            int c = warp_base[w];
            warp_base[w] = sum;
            sum += c;
        }
        block_base = atomicAdd(count, sum);
    }
    __syncthreads();
    if (keep)
        out[block_base + warp_base[wid] + __popc(ballot & ((1u << lane) - 1u))] = v;
}
