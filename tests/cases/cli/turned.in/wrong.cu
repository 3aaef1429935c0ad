// Adds the numbers above 50 of each row.
extern "C" __global__ void rows(const int* x, int* y, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = 0;
    for (int i = n - 1; i >= 0; --i)
        if (x[t * n + i] > 49) sum += x[t * n + i];
    y[t] = sum;
}
