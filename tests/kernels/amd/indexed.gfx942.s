// Registers that `s_set_gpr_idx_on` indexes, for the CPU device's tests. Each kernel takes one pointer.
.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
.amdhsa_code_object_version 5
.text

.macro begin name
.p2align 8
.type \name,@function
\name:
  s_load_dwordx2 s[2:3], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 2, v0
  v_mov_b32_e32 v10, 0x64
  v_mov_b32_e32 v11, 0xc8
  v_mov_b32_e32 v12, 0x12c
  v_mov_b32_e32 v13, 0x190
  s_mov_b32 s4, 2
  s_waitcnt lgkmcnt(0)
.endm

.macro finish name
  global_store_dword v1, v3, s[2:3]
  s_endpgm
.size \name, .-\name
.endm

// 300: the source is indexed.
begin source
  s_set_gpr_idx_on s4, gpr_idx(SRC0)
  v_mov_b32_e32 v3, v10
  s_set_gpr_idx_off
finish source

// 100 times the lane's number, plus 1 in odd lanes: the result is indexed, in some lanes only.
begin result
  v_mul_u32_u24_e32 v12, 0x64, v0
  v_and_b32_e32 v4, 1, v0
  v_cmp_eq_u32_e32 vcc, 1, v4
  v_add_u32_e32 v5, 1, v12
  s_and_saveexec_b64 s[6:7], vcc
  s_set_gpr_idx_on s4, gpr_idx(DST)
  v_mov_b32_e32 v10, v5
  s_set_gpr_idx_off
  s_or_b64 exec, exec, s[6:7]
  v_mov_b32_e32 v3, v12
finish result

// 200 and M0: another index and other operands while registers are indexed. A constant is not indexed.
begin changed
  s_mov_b32 m0, 0x50000
  s_set_gpr_idx_on s4, gpr_idx(SRC0)
  s_set_gpr_idx_idx 1
  v_mov_b32_e32 v3, v10
  s_set_gpr_idx_mode gpr_idx(SRC0,DST)
  v_mov_b32_e32 v12, 7
  s_set_gpr_idx_off
  v_add_u32_e32 v3, m0, v3
  v_add_u32_e32 v3, v3, v13
finish changed

// Control branches while registers are indexed.
begin branches
  s_set_gpr_idx_on s4, gpr_idx(SRC0)
  s_cbranch_scc1 .Lend
  v_mov_b32_e32 v3, v10
.Lend:
  s_set_gpr_idx_off
finish branches

// Another operation while registers are indexed.
begin sum
  s_set_gpr_idx_on s4, gpr_idx(SRC0)
  v_add_u32_e32 v3, v10, v0
  s_set_gpr_idx_off
finish sum

// Nothing sets the register that is read.
begin unset
  s_mov_b32 s4, 4
  s_set_gpr_idx_on s4, gpr_idx(SRC0)
  v_mov_b32_e32 v3, v10
  s_set_gpr_idx_off
finish unset

// Scalar registers: 30 and 40 are read, and 5 is written to the mask of a selection.
begin scalars
  s_mov_b32 s10, 10
  s_mov_b32 s11, 20
  s_mov_b32 s12, 30
  s_mov_b32 s13, 40
  s_mov_b32 m0, 2
  s_movrels_b64 s[6:7], s[10:11]
  s_movrels_b32 s8, s10
  s_mov_b64 s[16:17], 0
  s_mov_b32 s5, 5
  s_movreld_b32 s14, s5
  v_mov_b32_e32 v4, 0x3e8
  v_cndmask_b32_e64 v3, 0, v4, s[16:17]
  s_add_i32 s6, s6, s7
  s_add_i32 s6, s6, s8
  v_add_u32_e32 v3, s6, v3
finish scalars

.rodata
.macro kernel name
.p2align 6
.amdhsa_kernel \name
  .amdhsa_kernarg_size 8
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr 16
  .amdhsa_next_free_sgpr 24
  .amdhsa_accum_offset 16
.end_amdhsa_kernel
.endm
kernel source
kernel result
kernel changed
kernel branches
kernel sum
kernel unset
kernel scalars

.amdgpu_metadata
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: source
    .symbol: source.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 24
    .vgpr_count: 16
    .max_flat_workgroup_size: 256
    .args: [{.name: data, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}]
  - .name: result
    .symbol: result.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 24
    .vgpr_count: 16
    .max_flat_workgroup_size: 256
    .args: [{.name: data, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}]
  - .name: changed
    .symbol: changed.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 24
    .vgpr_count: 16
    .max_flat_workgroup_size: 256
    .args: [{.name: data, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}]
  - .name: branches
    .symbol: branches.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 24
    .vgpr_count: 16
    .max_flat_workgroup_size: 256
    .args: [{.name: data, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}]
  - .name: sum
    .symbol: sum.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 24
    .vgpr_count: 16
    .max_flat_workgroup_size: 256
    .args: [{.name: data, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}]
  - .name: unset
    .symbol: unset.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 24
    .vgpr_count: 16
    .max_flat_workgroup_size: 256
    .args: [{.name: data, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}]
  - .name: scalars
    .symbol: scalars.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 24
    .vgpr_count: 16
    .max_flat_workgroup_size: 256
    .args: [{.name: data, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}]
.end_amdgpu_metadata
