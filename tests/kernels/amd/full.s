// Kernels that name all vector registers, for waves of 64 lanes. Each takes `in` and `out`, 128 elements, and works on
// one in each lane: it counts how often the element can be halved, and adds up registers that hold numbers meanwhile.
.amdhsa_code_object_version 5
.text

.macro plus d, a, b
.if .amdgcn.gfx_generation_number >= 10
  v_add_nc_u32_e32 \d, \a, \b
.else
  v_add_u32_e32 \d, \a, \b
.endif
.endm

// Gives registers from v[first] on their number, times a factor.
.macro numbers first, factor
  .set n, \first
  .rept 256-\first
  v_mov_b32_e32 v[n], n*\factor
  .set n, n+1
  .endr
.endm

.macro begin
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_lshl_b32 s3, s2, 8
  v_lshlrev_b32_e32 v1, 2, v0
  plus v1, s3, v1
  s_waitcnt lgkmcnt(0)
  global_load_dword v2, v1, s[4:5]
  v_mov_b32_e32 v3, 0
  v_mov_b32_e32 v5, 0
  s_mov_b64 s[8:9], 0
  numbers 6, 1
  s_waitcnt vmcnt(0)
.endm

// Halves v2 until it is at most 1, and counts in v3. No lane branches around the body: those that have ended are taken
// out of EXEC.
.macro halvings
.Lloop\@:
  v_cmp_ge_i32_e32 vcc, 1, v2
  s_or_b64 s[8:9], vcc, s[8:9]
  s_andn2_b64 exec, exec, s[8:9]
  s_cbranch_execz .Ldone\@
  v_lshrrev_b32_e32 v2, 1, v2
  plus v3, 1, v3
  s_branch .Lloop\@
.Ldone\@:
  s_mov_b64 exec, -1
.endm

.macro finish
  v_lshlrev_b32_e32 v5, 8, v5
.if .amdgcn.gfx_generation_number == 11
  s_waitcnt_depctr depctr_va_vdst(0)
.endif
  plus v3, v5, v3
  .set n, 6
  .rept 250
  plus v3, v[n], v3
  .set n, n+1
  .endr
  global_store_dword v1, v3, s[6:7]
  s_endpgm
.endm

// Every register holds something wherever code is inserted.
.p2align 8
.type held,@function
held:
  begin
  halvings
  finish
.size held, .-held

// Most registers hold nothing in the loop: they get their numbers behind it.
.p2align 8
.type dead,@function
dead:
  begin
  .set n, 6
  .rept 250
  plus v5, v[n], v5
  .set n, n+1
  .endr
  v_mov_b32_e32 v5, 0
  halvings
  numbers 6, 1
  finish
.size dead, .-dead

// Lanes with an odd element write most registers. Where code is inserted before that, these registers hold nothing in
// them, but the other lanes keep what they have: no branch leads these around the region.
.macro split
  v_and_b32_e32 v4, 1, v2
  v_cmp_eq_u32_e32 vcc, 1, v4
  s_and_saveexec_b64 s[16:17], vcc
  v_cmp_lt_i32_e32 vcc, 8, v2
  s_and_saveexec_b64 s[18:19], vcc
  s_cbranch_execz .Lsmall\@
  plus v5, 1, v5
.Lsmall\@:
  s_or_b64 exec, exec, s[18:19]
  numbers 20, 2
  s_or_b64 exec, exec, s[16:17]
.endm
.p2align 8
.type masked,@function
masked:
  begin
  split
  halvings
  finish
.size masked, .-masked

// The same, with registers that loads may still write: v[252:255] in a lane with an odd element, and s[88:91]. All
// scalar registers but a few hold something. v[248:251] get their numbers again in the end, and hold nothing before.
.p2align 8
.type loading,@function
loading:
  begin
  v_mov_b32_e32 v4, 0
  .set n, 20
  .rept 80
  s_movk_i32 s[n], n
  .set n, n+1
  .endr
  s_load_dwordx4 s[88:91], s[0:1], 0x0
  v_and_b32_e32 v4, 1, v2
  v_cmp_eq_u32_e32 vcc, 1, v4
  s_and_saveexec_b64 s[16:17], vcc
  v_mov_b32_e32 v4, 0
  global_load_dwordx4 v[252:255], v4, s[4:5]
  v_cmp_lt_i32_e32 vcc, 8, v2
  s_and_saveexec_b64 s[18:19], vcc
  s_cbranch_execz .Llittle
  plus v5, 1, v5
.Llittle:
  s_or_b64 exec, exec, s[18:19]
  s_waitcnt vmcnt(0) lgkmcnt(0)
  s_or_b64 exec, exec, s[16:17]
  s_xor_b32 s88, s88, s4
  s_xor_b32 s89, s89, s5
  s_xor_b32 s90, s90, s6
  s_xor_b32 s91, s91, s7
  halvings
  .set n, 20
  .rept 80
  plus v3, s[n], v3
  .set n, n+1
  .endr
  .set n, 248
  .rept 4
  v_mov_b32_e32 v[n], n
  .set n, n+1
  .endr
  finish
.size loading, .-loading

// SCC says at the loop's begin whether the trips so far are odd, and is read there only. Its sum is added up.
.p2align 8
.type flags,@function
flags:
  begin
  s_mov_b32 s10, 0
  s_mov_b32 s11, 0
  s_cmp_eq_u32 s10, 0
.Lflags:
  s_cselect_b32 s12, 1, 0
  s_add_u32 s11, s11, s12
  v_cmp_ge_i32_e32 vcc, 1, v2
  s_or_b64 s[8:9], vcc, s[8:9]
  s_andn2_b64 exec, exec, s[8:9]
  s_cbranch_execz .Lnoflags
  v_lshrrev_b32_e32 v2, 1, v2
  plus v3, 1, v3
  s_add_u32 s10, s10, 1
  s_bitcmp1_b32 s10, 0
  s_branch .Lflags
.Lnoflags:
  s_mov_b64 exec, -1
  plus v3, s11, v3
  finish
.size flags, .-flags

.if .amdgcn.gfx_generation_number >= 10
.macro kernel name
.rodata
.p2align 6
.amdhsa_kernel \name
  .amdhsa_kernarg_size 16
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr 256
  .amdhsa_next_free_sgpr 100
  .amdhsa_wavefront_size32 0
.end_amdhsa_kernel
.endm
.else
.macro kernel name
.rodata
.p2align 6
.amdhsa_kernel \name
  .amdhsa_kernarg_size 16
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr 256
  .amdhsa_next_free_sgpr 100
  .amdhsa_accum_offset 256
.end_amdhsa_kernel
.endm
.endif
kernel held
kernel dead
kernel masked
kernel loading
kernel flags

.amdgpu_metadata
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: held
    .symbol: held.kd
    .kernarg_segment_size: 16
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 106
    .vgpr_count: 256
    .max_flat_workgroup_size: 64
    .args: [{.name: in, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}, {.name: out, .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global}]
  - .name: dead
    .symbol: dead.kd
    .kernarg_segment_size: 16
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 106
    .vgpr_count: 256
    .max_flat_workgroup_size: 64
    .args: [{.name: in, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}, {.name: out, .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global}]
  - .name: masked
    .symbol: masked.kd
    .kernarg_segment_size: 16
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 106
    .vgpr_count: 256
    .max_flat_workgroup_size: 64
    .args: [{.name: in, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}, {.name: out, .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global}]
  - .name: loading
    .symbol: loading.kd
    .kernarg_segment_size: 16
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 106
    .vgpr_count: 256
    .max_flat_workgroup_size: 64
    .args: [{.name: in, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}, {.name: out, .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global}]
  - .name: flags
    .symbol: flags.kd
    .kernarg_segment_size: 16
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 106
    .vgpr_count: 256
    .max_flat_workgroup_size: 64
    .args: [{.name: in, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}, {.name: out, .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global}]
.end_amdgpu_metadata
