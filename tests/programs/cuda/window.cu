// Sums of three neighbours. Built with WRONG, the last sum but one lacks its right neighbour: no launch before it differs.
#include "common.cuh"

__global__ void scale(const float *x, float *y, int n, float factor) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * factor;
}

__global__ void sums(const float *y, float *z, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float left = i > 0 ? y[i - 1] : 0.0f;
#ifdef WRONG
    float right = i + 2 < n ? y[i + 1] : 0.0f;
#else
    float right = i + 1 < n ? y[i + 1] : 0.0f;
#endif
    z[i] = left + 2.0f * y[i] + right;
}

int main() {
    const int n = 5000;
    std::vector<float> host(n);
    for (int i = 0; i < n; i++) host[i] = i % 97 * 0.25f + 1;
    float *x, *y, *z;
    CHECK(cudaMalloc(&x, n * sizeof *x));
    CHECK(cudaMalloc(&y, n * sizeof *y));
    CHECK(cudaMalloc(&z, n * sizeof *z));
    CHECK(cudaMemcpy(x, host.data(), n * sizeof *x, cudaMemcpyHostToDevice));
    for (int step = 0; step < 3; step++) {
        scale<<<(n + 255) / 256, 256>>>(x, y, n, 1.0f + step);
        sums<<<(n + 255) / 256, 256>>>(y, z, n);
    }
    CHECK(cudaMemcpy(host.data(), z, n * sizeof *z, cudaMemcpyDeviceToHost));
    double sum = 0;
    for (float value : host) sum += value;
    printf("%.3f\n", sum);
}
