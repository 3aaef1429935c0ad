// Connected components: unions by atomicMin on roots; the last CTA to finish writes every vertex's root.
// The forest depends on the schedule, the roots do not.
__device__ int root(volatile int *parent, int v)
{
    while (parent[v] != v)
        v = parent[v];
    return v;
}

__device__ void join(int *parent, int a, int b)
{
    while (true) {
        a = root(parent, a);
        b = root(parent, b);
        if (a == b)
            return;
        if (a < b) {
            int t = a;
            a = b;
            b = t;
        }
        int seen = atomicMin(&parent[a], b);
        if (seen == a)
            return;
        a = seen;
    }
}

extern "C" __global__ void union_find(const int2 *edges, int count, int *parent, int vertices, int *label, unsigned *done)
{
    __shared__ bool last;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        join(parent, edges[i].x, edges[i].y);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        last = atomicAdd(done, 1u) == gridDim.x - 1;
    __syncthreads();
    if (last)
        for (int v = threadIdx.x; v < vertices; v += blockDim.x)
            label[v] = root(parent, v);
}
