#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void rotate(int *data, int *out, int n, int rounds) {
    cg::grid_group grid = cg::this_grid();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int *from = data, *to = out;
    for (int round = 0; round < rounds; round++) {
        if (i < n)
            to[i] = from[(i + blockDim.x) % n] + 1;
        int *other = from;
        from = to;
        to = other;
    }
}
