// Returns and breaks at many places: lanes leave a nest of loops one by one and never come back.
extern "C" __global__ void early_exit(const int *grid, int size, const int *wanted, int *found, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int want = wanted[i];
    if (want < 0) {
        found[i] = -2;
        return;
    }
    for (int y = 0; y < size; ++y) {
        if (grid[y * size] > want)
            break;
        for (int x = 0; x < size; ++x) {
            int v = grid[y * size + x];
            if (v == want) {
                found[i] = y * size + x;
                return;
            }
            if (v > want)
                break;
        }
    }
    found[i] = -1;
}
