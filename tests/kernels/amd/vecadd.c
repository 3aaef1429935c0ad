// Adds two vectors. The size of its workgroups is a hidden argument.
#define GLOBAL __attribute__((address_space(1)))

__attribute__((amdgpu_kernel)) void vecadd(GLOBAL const float *a, GLOBAL const float *b, GLOBAL float *c, int n) {
  int i = __builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() + __builtin_amdgcn_workitem_id_x();
  if (i < n) c[i] = a[i] + b[i];
}
