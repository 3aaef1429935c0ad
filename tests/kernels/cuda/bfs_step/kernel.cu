// One level of breadth-first search: a thread a vertex of the frontier; new vertices are claimed by compare-and-swap.
extern "C" __global__ void bfs_step(const int *start, const int *edges, int *level, const int *frontier, int size,
                                    int *next, int *next_size, int depth)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= size)
        return;
    int vertex = frontier[i];
    for (int e = start[vertex]; e < start[vertex + 1]; ++e) {
        int to = edges[e];
        if (atomicCAS(&level[to], -1, depth) == -1)
            next[atomicAdd(next_size, 1)] = to;
    }
}
