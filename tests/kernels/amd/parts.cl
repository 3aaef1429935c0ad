// Kernels with LDS, scratch memory, a called function, a variable, a fixed workgroup, printed text and named
// arguments.
int printf(__constant const char *format, ...);

// Where printed text goes. ROCm's device library takes the runtime's buffer.
static __global char text[64];
__global char *__printf_alloc(unsigned bytes) { return bytes > 64 ? 0 : text; }

__attribute__((visibility("protected"))) __global int counter = 7;

// A loader relocates this address.
__attribute__((visibility("protected"))) __global int *__global place = &counter;

__attribute__((noinline)) int twice(int x) { return 2 * x + counter; }

__attribute__((reqd_work_group_size(32, 2, 1))) __kernel void tile(__global int *restrict out, char last) {
  __local int shared[64];
  int x = __builtin_amdgcn_workitem_id_x(), y = __builtin_amdgcn_workitem_id_y();
  shared[y * 32 + x] = x + last;
  __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "workgroup");
  __builtin_amdgcn_s_barrier();
  int group = __builtin_amdgcn_workgroup_id_x() + 10 * __builtin_amdgcn_workgroup_id_y();
  out[group * 64 + y * 32 + x] = twice(shared[63 - (y * 32 + x)]);
}

__kernel void spill(__global const int *in, __global volatile int *out, __local int *lds, int n) {
  volatile int local_copy[16];
  for (int i = 0; i < 16; i++) local_copy[i] = in[i] * n;
  lds[n] = local_copy[n & 15];
  out[__builtin_amdgcn_workitem_id_x()] = lds[n ^ 1];
  if (n == 77) printf("%d of %d\n", n, lds[0]);
}
