extern "C" __global__ void k(const int* v, const int* head, int* o, int n) {
  __shared__ int s[128], f[128];
  int t = threadIdx.x, i = blockIdx.x * 128 + t;
  s[t] = v[i];
  f[t] = head[i] == 0;
  __syncthreads();
  for (int d = 1; d < 128; d <<= 1) {
    int x = 0, g = 0;
    if (t >= d) { x = s[t - d]; g = f[t - d]; }
    __syncthreads();
    if (t >= d) {
      if (!f[t])
        s[t] += x;
      f[t] |= g;
    }
    __syncthreads();
  }
  o[i] = s[t];
}
