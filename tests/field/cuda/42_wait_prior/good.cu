#include <cuda_pipeline.h>
extern "C" __global__ void k(const float4* a, float* o, int n) {
  __shared__ float4 s[3][32];
  int l = threadIdx.x;
  float acc = 0.f;
  for (int p = 0; p < 2; p++) {
    __pipeline_memcpy_async(&s[p][l], &a[p * 32 + l], 16);
    __pipeline_commit();
  }
  for (int j = 0; j < n; j++) {
    int q = j + 2;
    if (q < n) __pipeline_memcpy_async(&s[q % 3][l], &a[q * 32 + l], 16);
    __pipeline_commit();
    __pipeline_wait_prior(2);
    __syncwarp();
    float4 v = s[j % 3][31 - l];
    acc += v.x * v.y + v.z - v.w;
    __syncwarp();
  }
  o[blockIdx.x * 32 + l] = acc;
}
