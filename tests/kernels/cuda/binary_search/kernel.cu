// Position of the first element not less than each query.
extern "C" __global__ void binary_search(const int *sorted, int n, const int *queries, int *where, int m)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= m)
        return;
    int q = queries[i], low = 0, high = n;
    while (low < high) {
        int mid = low + (high - low) / 2;
        if (sorted[mid] < q)
            low = mid + 1;
        else
            high = mid;
    }
    where[i] = low;
}
