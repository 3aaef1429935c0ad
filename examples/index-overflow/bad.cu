// Looks up elements (row, column) of a table with 16,777,216 columns. The table lies on several devices; this one holds
// the elements whose index is in [first, first + held), and answers only for those.

extern "C" __global__ void lookup(const int *rows, const int *columns, int n, int pitch, const float *shard, long long first,
                                  int held, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    int index = rows[i] * pitch + columns[i];
    long long here = index - first;
    if (here >= 0 && here < held) {
        out[i] = shard[here];
    }
}
