// An if, a loop that lanes leave one by one, a loop of the whole wave, and calls: inlined, and not.
#define GLOBAL __attribute__((address_space(1)))

static inline __attribute__((always_inline)) int half(int x) {
  return x / 2;
}

__attribute__((noinline)) static int steps(int x) {
  int n = 0;
  while (x > 1) {
    x = x & 1 ? 3 * x + 1 : half(x);
    n++;
  }
  return n;
}

__attribute__((amdgpu_kernel)) void control(GLOBAL const int *in, GLOBAL int *out, int n, int rounds) {
  int i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
  if (i >= n) return;
  int sum = 0;
  for (int r = 0; r < rounds; r++)
    sum += in[r * n + i];
  out[i] = sum > 0 ? steps(sum) : -1;
}
