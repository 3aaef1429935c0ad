// Kernels that jump and call by address. Each takes `in` and `out`, 128 elements, and works on one in each lane.
.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
.amdhsa_code_object_version 5
.text

// Does not return. The debugger's trap would.
.p2align 2
.type stop,@function
stop:
  v_mov_b32_e32 v6, 0
  s_trap 2
.size stop, .-stop

// Halves v2. Counts odd numbers in v5.
.p2align 2
.type half,@function
half:
  v_and_b32_e32 v4, 1, v2
  v_cmp_eq_u32_e32 vcc, 1, v4
  s_and_saveexec_b64 s[34:35], vcc
  s_cbranch_execz .Leven
  v_add_u32_e32 v5, 1, v5
.Leven:
  s_or_b64 exec, exec, s[34:35]
  v_lshrrev_b32_e32 v2, 1, v2
  s_setpc_b64 s[30:31]
.size half, .-half

.macro begin
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_lshl_b32 s3, s2, 8
  v_lshlrev_b32_e32 v1, 2, v0
  v_add_u32_e32 v1, s3, v1
  s_waitcnt lgkmcnt(0)
  global_load_dword v2, v1, s[4:5]
  v_mov_b32_e32 v3, 0
  v_mov_b32_e32 v5, 0
  s_mov_b64 s[8:9], 0
  s_waitcnt vmcnt(0)
.endm

// The floor of the logarithm to base 2. Jumps as Tensile does: a distance, made positive to go back. It ends with a
// call that does not return, if a lane has the greatest number.
.p2align 8
.type distances,@function
distances:
  begin
  v_cmp_eq_u32_e32 vcc, 0x7fffffff, v2
  s_cbranch_vccnz .Lstop
  s_getpc_b64 s[10:11]
.Lfirst:
  s_add_i32 s12, .Lloop-.Lfirst-4, 4
  s_add_u32 s10, s10, s12
  s_addc_u32 s11, s11, 0
  s_setpc_b64 s[10:11]
.Ldone:
  s_mov_b64 exec, -1
  global_store_dword v1, v3, s[6:7]
  s_endpgm
.Lloop:
  v_cmp_ge_i32_e32 vcc, 1, v2
  s_or_b64 s[8:9], vcc, s[8:9]
  s_andn2_b64 exec, exec, s[8:9]
  s_cbranch_execz .Ldone
  v_lshrrev_b32_e32 v2, 1, v2
  v_add_u32_e32 v3, 1, v3
  s_getpc_b64 s[10:11]
.Lsecond:
  s_add_i32 s12, .Lloop-.Lsecond-4, 4
  s_abs_i32 s12, s12
  s_sub_u32 s10, s10, s12
  s_subb_u32 s11, s11, 0
  s_setpc_b64 s[10:11]
.Lstop:
  s_getpc_b64 s[10:11]
  s_add_u32 s10, s10, stop@rel32@lo+4
  s_addc_u32 s11, s11, stop@rel32@hi+12
  s_swappc_b64 s[30:31], s[10:11]
.size distances, .-distances

// The same by calls, in a kernel that names all scalar registers: s60 to s101 hold their numbers throughout, and their
// sum is added in the end. SCC holds over a call whether s2 is 0. FILL instructions make its loop long.
.macro crowded name, fill
.p2align 8
.type \name,@function
\name:
  begin
  .irp n, 60,61,62,63,64,65,66,67,68,69,70,71,72,73,74,75,76,77,78,79,80,81,82,83,84,85,86,87,88,89,90,91,92,93,94,95,96,97,98,99,100,101
  s_movk_i32 s\n, \n
  .endr
  s_mov_b32 s13, 0
.Lloop\@:
  v_cmp_ge_i32_e32 vcc, 1, v2
  s_or_b64 s[8:9], vcc, s[8:9]
  s_andn2_b64 exec, exec, s[8:9]
  s_cbranch_execz .Ldone\@
  s_getpc_b64 s[10:11]
  s_add_u32 s10, s10, half@rel32@lo+4
  s_addc_u32 s11, s11, half@rel32@hi+12
  s_cmp_eq_u32 s2, 0
  s_swappc_b64 s[30:31], s[10:11]
  v_add_u32_e32 v3, 1, v3
  .rept \fill
  s_nop 0
  .endr
  s_branch .Lloop\@
.Ldone\@:
  s_mov_b64 exec, -1
  .irp n, 60,61,62,63,64,65,66,67,68,69,70,71,72,73,74,75,76,77,78,79,80,81,82,83,84,85,86,87,88,89,90,91,92,93,94,95,96,97,98,99,100,101
  s_add_u32 s13, s13, s\n
  .endr
  v_lshlrev_b32_e32 v5, 8, v5
  v_add3_u32 v3, v3, v5, s13
  global_store_dword v1, v3, s[6:7]
  s_endpgm
.size \name, .-\name
.endm
crowded crowded, 0
crowded far, 32700

// Calls the same function, and leaves no vector register free.
.p2align 8
.type wide,@function
wide:
  begin
  v_mov_b32_e32 v255, v2
  s_getpc_b64 s[10:11]
  s_add_u32 s10, s10, half@rel32@lo+4
  s_addc_u32 s11, s11, half@rel32@hi+12
  s_swappc_b64 s[30:31], s[10:11]
  global_store_dword v1, v255, s[6:7]
  s_endpgm
.size wide, .-wide

// Takes no arguments, and stores nothing: lanes add up their numbers in a loop.
.p2align 8
.type alone,@function
alone:
  v_mov_b32_e32 v1, v0
  s_mov_b64 s[8:9], 0
.Lmore:
  v_cmp_ge_i32_e32 vcc, 1, v1
  s_or_b64 s[8:9], vcc, s[8:9]
  s_andn2_b64 exec, exec, s[8:9]
  s_cbranch_execz .Lenough
  v_lshrrev_b32_e32 v1, 1, v1
  s_branch .Lmore
.Lenough:
  s_endpgm
.size alone, .-alone

.macro kernel name, arguments, vectors=8
.rodata
.p2align 6
.amdhsa_kernel \name
  .amdhsa_kernarg_size 16*\arguments
  .amdhsa_user_sgpr_kernarg_segment_ptr \arguments
  .amdhsa_next_free_vgpr \vectors
  .amdhsa_next_free_sgpr 102
  .amdhsa_accum_offset \vectors
.end_amdhsa_kernel
.endm
kernel distances, 1
kernel crowded, 1
kernel far, 1
kernel alone, 0
kernel wide, 1, 256

.amdgpu_metadata
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: distances
    .symbol: distances.kd
    .kernarg_segment_size: 16
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 108
    .vgpr_count: 8
    .max_flat_workgroup_size: 64
    .args: [{.name: in, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}, {.name: out, .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global}]
  - .name: crowded
    .symbol: crowded.kd
    .kernarg_segment_size: 16
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 108
    .vgpr_count: 8
    .max_flat_workgroup_size: 64
    .args: [{.name: in, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}, {.name: out, .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global}]
  - .name: far
    .symbol: far.kd
    .kernarg_segment_size: 16
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 108
    .vgpr_count: 8
    .max_flat_workgroup_size: 64
    .args: [{.name: in, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}, {.name: out, .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global}]
  - .name: alone
    .symbol: alone.kd
    .kernarg_segment_size: 0
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 108
    .vgpr_count: 8
    .max_flat_workgroup_size: 64
    .args: []
  - .name: wide
    .symbol: wide.kd
    .kernarg_segment_size: 16
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 108
    .vgpr_count: 256
    .max_flat_workgroup_size: 64
    .args: [{.name: in, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}, {.name: out, .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global}]
.end_amdgpu_metadata
