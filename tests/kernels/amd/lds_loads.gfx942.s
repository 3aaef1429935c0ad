// Loads to LDS, for the CPU device's tests. Each kernel takes one pointer. M0 is 256 times the number of the
// wave, and `v4` the place of lane 63 - l.
.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
.amdhsa_code_object_version 5
.text

.macro begin name
.p2align 8
.type \name,@function
\name:
  s_load_dwordx2 s[2:3], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 2, v0
  v_xor_b32_e32 v4, 0xfc, v1
  v_and_b32_e32 v5, 0xffffff00, v1
  s_nop 0
  v_readfirstlane_b32 s8, v5
  s_mov_b32 m0, s8
  s_waitcnt lgkmcnt(0)
.endm

.macro finish name
  s_waitcnt lgkmcnt(0)
  global_store_dword v1, v3, s[2:3] offset:1024
  s_endpgm
.size \name, .-\name
.endm

// The elements of the lane 63 - l of the wave, by LDS.
begin global
  global_load_lds_dword v1, s[2:3]
  s_waitcnt vmcnt(0)
  ds_read_b32 v3, v4 offset:0
finish global

// The same by a buffer, of which the last 64 bytes are outside and read as 0; the second wave uses
// other bytes of LDS.
begin buffer
  s_mov_b32 s4, s2
  s_mov_b32 s5, s3
  s_movk_i32 s6, 448
  s_mov_b32 s7, 0x20000
  buffer_load_dword v1, s[4:7], 0 offen lds
  s_waitcnt vmcnt(0)
  ds_read_b32 v3, v4
finish buffer

// Signed bytes: the first byte of each element, and an offset that counts in both places.
begin bytes
  s_lshl_b32 m0, s8, 1
  v_add_u32_e32 v4, v4, v5
  global_load_lds_sbyte v1, s[2:3] offset:4
  s_waitcnt vmcnt(0)
  ds_read_b32 v3, v4 offset:4
finish bytes

// As `global`, but nothing waits.
begin early
  global_load_lds_dword v1, s[2:3]
  ds_read_b32 v3, v4
finish early

// Two loads, of which the second is not waited for, and only bytes of the first one are read.
begin partly
  global_load_lds_dword v1, s[2:3]
  s_add_u32 m0, m0, 0x400
  s_nop 0
  global_load_lds_dword v1, s[2:3]
  s_waitcnt vmcnt(1)
  ds_read_b32 v3, v4
finish partly

.rodata
.macro kernel name
.p2align 6
.amdhsa_kernel \name
  .amdhsa_group_segment_fixed_size 2048
  .amdhsa_kernarg_size 8
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 16
  .amdhsa_accum_offset 8
.end_amdhsa_kernel
.endm
kernel global
kernel buffer
kernel bytes
kernel early
kernel partly

.amdgpu_metadata
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: global
    .symbol: global.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 2048
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 8
    .max_flat_workgroup_size: 256
    .args: [{.name: data, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}]
  - .name: buffer
    .symbol: buffer.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 2048
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 8
    .max_flat_workgroup_size: 256
    .args: [{.name: data, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}]
  - .name: bytes
    .symbol: bytes.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 2048
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 8
    .max_flat_workgroup_size: 256
    .args: [{.name: data, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}]
  - .name: early
    .symbol: early.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 2048
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 8
    .max_flat_workgroup_size: 256
    .args: [{.name: data, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}]
  - .name: partly
    .symbol: partly.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 2048
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 8
    .max_flat_workgroup_size: 256
    .args: [{.name: data, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}]
.end_amdgpu_metadata
