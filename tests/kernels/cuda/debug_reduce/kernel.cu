// corpus: flags -G
// A debug build with shared memory, a loop, a struct, and a local array that is indexed.
struct Pair {
    int least, most;
};

__device__ Pair join(Pair a, Pair b)
{
    Pair r;
    r.least = a.least < b.least ? a.least : b.least;
    r.most = a.most > b.most ? a.most : b.most;
    return r;
}

extern "C" __global__ void debug_reduce(const int *x, int *range, int per_thread)
{
    __shared__ Pair s[64];
    int seen[4];
    for (int k = 0; k < per_thread; ++k)
        seen[k] = x[threadIdx.x * per_thread + k];
    Pair mine = {seen[0], seen[0]};
    for (int k = 1; k < per_thread; ++k) {
        Pair one = {seen[k], seen[k]};
        mine = join(mine, one);
    }
    s[threadIdx.x] = mine;
    __syncthreads();
    for (int stride = 32; stride > 0; stride /= 2) {
        if (threadIdx.x < stride)
            s[threadIdx.x] = join(s[threadIdx.x], s[threadIdx.x + stride]);
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        range[0] = s[0].least;
        range[1] = s[0].most;
    }
}
