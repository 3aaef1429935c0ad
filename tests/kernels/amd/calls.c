// Calls: in a loop that lanes leave one by one, in the loop of a recursive function, and in place of a return.
#define GLOBAL __attribute__((address_space(1)))
#define FUNCTION __attribute__((noinline)) static

FUNCTION int next(int x) {
  return x & 1 ? 3 * x + 1 : x / 2;
}

FUNCTION int steps(int x) {
  int n = 0;
  while (x > 1) {
    x = next(x);
    n++;
  }
  return n;
}

// 1 and the counts of 0 to n - 1: 2 to the power of n.
FUNCTION int count(int n) {
  int sum = 1;
  for (int i = 0; i < n; i++)
    sum += count(i);
  return sum;
}

FUNCTION int from_odd(int x) {
  return steps(x | 1);
}

static int item(void) {
  return __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
}

__attribute__((amdgpu_kernel)) void in_loop(GLOBAL const int *in, GLOBAL int *out, int n) {
  int i = item();
  if (i < n) out[i] = steps(in[i]);
}

__attribute__((amdgpu_kernel)) void recursive(GLOBAL const int *in, GLOBAL int *out, int n) {
  int i = item();
  if (i < n) out[i] = count(in[i] % 7);
}

__attribute__((amdgpu_kernel)) void tail(GLOBAL const int *in, GLOBAL int *out, int n) {
  int i = item();
  if (i < n) out[i] = from_odd(in[i]);
}
