// Kernels whose right behaviour depends on waves, for the CPU device's tests. Each takes one pointer.
.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
.amdhsa_code_object_version 5
.text

// Adds 1 to each element. The load is not waited for.
.p2align 8
.type early,@function
early:
  s_load_dwordx2 s[2:3], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 2, v0
  s_waitcnt lgkmcnt(0)
  global_load_dword v2, v1, s[2:3]
  v_add_u32_e32 v2, 1, v2
  global_store_dword v1, v2, s[2:3]
  s_endpgm
.size early, .-early

// The same, with the wait.
.p2align 8
.type waited,@function
waited:
  s_load_dwordx2 s[2:3], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 2, v0
  s_waitcnt lgkmcnt(0)
  global_load_dword v2, v1, s[2:3]
  s_waitcnt vmcnt(0)
  v_add_u32_e32 v2, 1, v2
  global_store_dword v1, v2, s[2:3]
  s_endpgm
.size waited, .-waited

// Each lane stores its number to LDS, and reads that of lane 63 - l of its wave: no barrier is needed.
.p2align 8
.type inside,@function
inside:
  s_load_dwordx2 s[2:3], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 2, v0
  v_xor_b32_e32 v3, 0xfc, v1
  ds_write_b32 v1, v0
  s_waitcnt lgkmcnt(0)
  ds_read_b32 v2, v3
  s_waitcnt lgkmcnt(0)
  global_store_dword v1, v2, s[2:3]
  s_endpgm
.size inside, .-inside

// The same with the lanes of another wave: a barrier is missing.
.p2align 8
.type across,@function
across:
  s_load_dwordx2 s[2:3], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 2, v0
  v_xor_b32_e32 v3, 0x100, v1
  ds_write_b32 v1, v0
  s_waitcnt lgkmcnt(0)
  ds_read_b32 v2, v3
  s_waitcnt lgkmcnt(0)
  global_store_dword v1, v2, s[2:3]
  s_endpgm
.size across, .-across

// Sums the lanes' numbers by a loop that handles the lanes with one number at a time (a waterfall), and stores how
// often it ran.
.p2align 8
.type waterfall,@function
waterfall:
  s_load_dwordx2 s[2:3], s[0:1], 0x0
  v_and_b32_e32 v1, 3, v0
  s_mov_b32 s4, 0
  s_mov_b64 s[6:7], exec
.Lnext:
  v_readfirstlane_b32 s5, v1
  v_cmp_eq_u32_e32 vcc, s5, v1
  s_and_saveexec_b64 s[8:9], vcc
  s_add_u32 s4, s4, 1
  v_mov_b32_e32 v2, s4
  s_xor_b64 exec, exec, s[8:9]
  s_cbranch_execnz .Lnext
  s_mov_b64 exec, s[6:7]
  v_lshlrev_b32_e32 v3, 2, v0
  s_waitcnt lgkmcnt(0)
  global_store_dword v3, v2, s[2:3]
  s_endpgm
.size waterfall, .-waterfall

// Lane 40 of the first wave stores behind the buffer.
.p2align 8
.type outside,@function
outside:
  s_load_dwordx2 s[2:3], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 2, v0
  v_mov_b32_e32 v2, 0x1000
  v_cmp_eq_u32_e32 vcc, 40, v0
  s_nop 1
  v_cndmask_b32_e32 v1, v1, v2, vcc
  s_waitcnt lgkmcnt(0)
  global_store_dword v1, v0, s[2:3]
  s_endpgm
.size outside, .-outside

// All lanes but 3 and 40 of each wave store behind the buffer.
.p2align 8
.type beyond,@function
beyond:
  s_load_dwordx2 s[2:3], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 2, v0
  v_and_b32_e32 v3, 63, v0
  v_cmp_ne_u32_e32 vcc, 3, v3
  v_cmp_ne_u32_e64 s[4:5], 40, v3
  s_and_b64 vcc, vcc, s[4:5]
  v_add_u32_e32 v2, 0x1000, v1
  v_cndmask_b32_e32 v1, v1, v2, vcc
  s_waitcnt lgkmcnt(0)
  global_store_dword v1, v0, s[2:3]
  s_endpgm
.size beyond, .-beyond

.macro kernel name
.rodata
.p2align 6
.amdhsa_kernel \name
  .amdhsa_group_segment_fixed_size 1024
  .amdhsa_kernarg_size 8
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 16
  .amdhsa_accum_offset 8
.end_amdhsa_kernel
.endm
kernel early
kernel waited
kernel inside
kernel across
kernel waterfall
kernel outside
kernel beyond

.amdgpu_metadata
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: early
    .symbol: early.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 1024
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 8
    .max_flat_workgroup_size: 256
    .args: [{.name: data, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}]
  - .name: waited
    .symbol: waited.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 1024
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 8
    .max_flat_workgroup_size: 256
    .args: [{.name: data, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}]
  - .name: inside
    .symbol: inside.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 1024
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 8
    .max_flat_workgroup_size: 256
    .args: [{.name: data, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}]
  - .name: across
    .symbol: across.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 1024
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 8
    .max_flat_workgroup_size: 256
    .args: [{.name: data, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}]
  - .name: waterfall
    .symbol: waterfall.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 1024
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 8
    .max_flat_workgroup_size: 256
    .args: [{.name: data, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}]
  - .name: outside
    .symbol: outside.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 1024
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 8
    .max_flat_workgroup_size: 256
    .args: [{.name: data, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}]
  - .name: beyond
    .symbol: beyond.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 1024
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 8
    .max_flat_workgroup_size: 256
    .args: [{.name: data, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}]
.end_amdgpu_metadata
