// Loops of one kind of work for `cargo xtask bench emulate-amd`, for waves of 64 lanes. Each makes 200,000
// iterations, as those of `bench emulate` do, and stores a word that depends on all of them.
//
//     clang-22 --target=amdgcn-amd-amdhsa -mcpu=gfx942 -o loops.gfx942.co loops.gfx942.s
.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
.amdhsa_code_object_version 5

// Begins a kernel: the buffer is s[2:3], the lane's byte offset v11.
.macro begin name
  .text
  .globl \name
  .p2align 8
  .type \name,@function
\name:
  s_load_dwordx2 s[2:3], s[0:1], 0x0
  v_and_b32 v0, 0x3ff, v0
  v_lshlrev_b32 v11, 2, v0
  v_mov_b32 v1, 1.0
  v_mov_b32 v2, 0.5
  v_mov_b32 v3, 1.0
  v_mov_b32 v4, 1
  v_mov_b32 v5, 0x19660d
  v_mov_b32 v6, 0x3c6ef35f
  v_mov_b32 v7, 0
  v_mov_b32 v9, 0
  v_mov_b32 v12, 1.0
  v_mov_b32 v13, 0.5
  v_mov_b32 v14, 1.0
  v_mov_b32 v15, 1.0
  s_mov_b32 s4, 0
  s_waitcnt lgkmcnt(0)
.L\name:
.endm

// Ends it: another iteration, then the result.
.macro end name
  s_add_i32 s4, s4, 1
  s_cmp_lt_i32 s4, 200000
  s_cbranch_scc1 .L\name
  v_add_u32 v7, v7, v9
  v_cvt_f32_i32 v10, v7
  v_add_f32 v10, v10, v1
  global_store_dword v11, v10, s[2:3]
  s_endpgm
  .size \name, .-\name
  .rodata
  .amdhsa_kernel \name
    .amdhsa_group_segment_fixed_size 1024
    .amdhsa_kernarg_size 8
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_accum_offset 24
    .amdhsa_float_denorm_mode_32 3
    .amdhsa_next_free_vgpr 24
    .amdhsa_next_free_sgpr 16
  .end_amdhsa_kernel
.endm

begin mix
  v_fma_f32 v1, v1, v2, v3
  v_mul_lo_u32 v4, v4, v5
  v_add_u32 v4, v4, v6
  v_xor_b32 v7, v7, v4
  v_lshrrev_b32 v8, 3, v7
  v_add_u32 v9, v9, v8
end mix

begin chain
  v_fma_f32 v1, v1, v2, v3
  v_fma_f32 v12, v12, v2, v3
  v_fma_f32 v13, v13, v2, v3
  v_fma_f32 v14, v14, v2, v3
  v_fma_f32 v15, v15, v2, v3
  v_fma_f32 v1, v1, v2, v3
end chain

begin rows
  s_and_b32 s5, s4, 1023
  s_lshl_b32 s5, s5, 7
  v_add_u32 v8, s5, v11
  global_load_dword v12, v8, s[2:3]
  s_waitcnt vmcnt(0)
  v_fma_f32 v1, v12, v2, v3
  global_store_dword v8, v1, s[2:3]
end rows

begin gathers
  v_mul_lo_u32 v4, v4, v5
  v_add_u32 v4, v4, v0
  v_and_b32 v8, 0x1fff, v4
  v_lshlrev_b32 v8, 2, v8
  global_load_dword v12, v8, s[2:3]
  s_waitcnt vmcnt(0)
  v_fma_f32 v1, v12, v2, v3
end gathers

begin divergent
  v_mul_lo_u32 v4, v4, v5
  v_add_u32 v4, v4, v0
  v_and_b32 v8, 0x10000, v4
  v_cmp_ne_u32 vcc, 0, v8
  s_and_saveexec_b64 s[6:7], vcc
  s_xor_b64 s[6:7], exec, s[6:7]
  s_cbranch_execz .Lelse
  v_add_u32 v9, v9, v8
.Lelse:
  s_andn2_saveexec_b64 s[6:7], s[6:7]
  s_cbranch_execz .Ljoin
  v_xor_b32 v7, v7, v4
.Ljoin:
  s_or_b64 exec, exec, s[6:7]
end divergent

begin shared
  s_and_b32 s5, s4, 127
  s_lshl_b32 s5, s5, 2
  v_mov_b32 v8, s5
  ds_read_b32 v12, v8
  s_waitcnt lgkmcnt(0)
  v_fma_f32 v1, v12, v2, v3
  ds_write_b32 v11, v1
end shared


.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx942
amdhsa.kernels:
  - .name: mix
    .symbol: mix.kd
    .args: [{.name: buffer, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}]
    .kernarg_segment_align: 8
    .kernarg_segment_size: 8
    .group_segment_fixed_size: 1024
    .private_segment_fixed_size: 0
    .max_flat_workgroup_size: 1024
    .sgpr_count: 16
    .vgpr_count: 24
    .wavefront_size: 64
  - .name: chain
    .symbol: chain.kd
    .args: [{.name: buffer, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}]
    .kernarg_segment_align: 8
    .kernarg_segment_size: 8
    .group_segment_fixed_size: 1024
    .private_segment_fixed_size: 0
    .max_flat_workgroup_size: 1024
    .sgpr_count: 16
    .vgpr_count: 24
    .wavefront_size: 64
  - .name: rows
    .symbol: rows.kd
    .args: [{.name: buffer, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}]
    .kernarg_segment_align: 8
    .kernarg_segment_size: 8
    .group_segment_fixed_size: 1024
    .private_segment_fixed_size: 0
    .max_flat_workgroup_size: 1024
    .sgpr_count: 16
    .vgpr_count: 24
    .wavefront_size: 64
  - .name: gathers
    .symbol: gathers.kd
    .args: [{.name: buffer, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}]
    .kernarg_segment_align: 8
    .kernarg_segment_size: 8
    .group_segment_fixed_size: 1024
    .private_segment_fixed_size: 0
    .max_flat_workgroup_size: 1024
    .sgpr_count: 16
    .vgpr_count: 24
    .wavefront_size: 64
  - .name: divergent
    .symbol: divergent.kd
    .args: [{.name: buffer, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}]
    .kernarg_segment_align: 8
    .kernarg_segment_size: 8
    .group_segment_fixed_size: 1024
    .private_segment_fixed_size: 0
    .max_flat_workgroup_size: 1024
    .sgpr_count: 16
    .vgpr_count: 24
    .wavefront_size: 64
  - .name: shared
    .symbol: shared.kd
    .args: [{.name: buffer, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}]
    .kernarg_segment_align: 8
    .kernarg_segment_size: 8
    .group_segment_fixed_size: 1024
    .private_segment_fixed_size: 0
    .max_flat_workgroup_size: 1024
    .sgpr_count: 16
    .vgpr_count: 24
    .wavefront_size: 64
...
.end_amdgpu_metadata
