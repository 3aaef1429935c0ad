// One level of breadth-first search, one thread a vertex of the frontier: degrees follow a power law.
extern "C" __global__ void bfs(const int *__restrict__ start, const int *__restrict__ edges, int *level,
                               const int *__restrict__ frontier, int size, int *next, int *next_size,
                               int depth)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= size)
        return;
    int vertex = frontier[i];
    int end = start[vertex + 1];
    for (int at = start[vertex]; at < end; at++) {
        int to = edges[at];
        // Most edges lead to vertices that were seen: a load is cheaper than a failing exchange.
        if (*(volatile int *)&level[to] >= 0)
            continue;
        if (atomicCAS(&level[to], -1, depth) == -1)
            next[atomicAdd(next_size, 1)] = to;
    }
}
