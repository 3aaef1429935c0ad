// Instructions of gfx90a, gfx942 and gfx950 that need wait states.
// Cases for the check of hazards: the argument `which` chooses one. Case 2n comes too early, and case 2n + 1 waits.
.amdhsa_code_object_version 5
.text

// Products of a target, by the registers of the result. The sources are v4 and v5.
.macro product32 d
.if .amdgcn.gfx_generation_minor >= 4
  v_mfma_f32_32x32x1_2b_f32 \d, v4, v5, 0
.else
  v_mfma_f32_32x32x1f32 \d, v4, v5, 0
.endif
.endm
.macro product4 d
.if .amdgcn.gfx_generation_minor >= 4
  v_mfma_f32_4x4x4_16b_f16 \d, v[4:5], v[4:5], 0
.else
  v_mfma_f32_4x4x4f16 \d, v[4:5], v[4:5], 0
.endif
.endm
.macro multiply d, a
.if .amdgcn.gfx_generation_minor >= 4
  v_mfma_f32_4x4x1_16b_f32 \d, \a, v5, 0
.else
  v_mfma_f32_4x4x1f32 \d, \a, v5, 0
.endif
.endm
.macro add4 c
.if .amdgcn.gfx_generation_minor >= 4
  v_mfma_f32_4x4x4_16b_f16 v[48:51], v[4:5], v[4:5], \c
.else
  v_mfma_f32_4x4x4f16 v[48:51], v[4:5], v[4:5], \c
.endif
.endm

.p2align 8
.type cases,@function
cases:
  s_load_dwordx2 s[2:3], s[0:1], 0x0
  s_load_dword s6, s[0:1], 0x8
  v_lshlrev_b32_e32 v1, 2, v0
  v_mov_b32_e32 v4, 1
  s_waitcnt lgkmcnt(0)
  // Registers of the products.
  .set n, 4
  .rept 60
  v_mov_b32_e32 v[n], 1
  .set n, n+1
  .endr
  s_nop 1
  s_cmp_eq_u32 s6, 0
  s_cbranch_scc1 .Lcase0
  s_cmp_eq_u32 s6, 1
  s_cbranch_scc1 .Lcase1
  s_cmp_eq_u32 s6, 2
  s_cbranch_scc1 .Lcase2
  s_cmp_eq_u32 s6, 3
  s_cbranch_scc1 .Lcase3
  s_cmp_eq_u32 s6, 4
  s_cbranch_scc1 .Lcase4
  s_cmp_eq_u32 s6, 5
  s_cbranch_scc1 .Lcase5
  s_cmp_eq_u32 s6, 6
  s_cbranch_scc1 .Lcase6
  s_cmp_eq_u32 s6, 7
  s_cbranch_scc1 .Lcase7
  s_cmp_eq_u32 s6, 8
  s_cbranch_scc1 .Lcase8
  s_cmp_eq_u32 s6, 9
  s_cbranch_scc1 .Lcase9
  s_cmp_eq_u32 s6, 10
  s_cbranch_scc1 .Lcase10
  s_cmp_eq_u32 s6, 11
  s_cbranch_scc1 .Lcase11
  s_cmp_eq_u32 s6, 12
  s_cbranch_scc1 .Lcase12
  s_cmp_eq_u32 s6, 13
  s_cbranch_scc1 .Lcase13
  s_cmp_eq_u32 s6, 14
  s_cbranch_scc1 .Lcase14
  s_cmp_eq_u32 s6, 15
  s_cbranch_scc1 .Lcase15
  s_cmp_eq_u32 s6, 16
  s_cbranch_scc1 .Lcase16
  s_cmp_eq_u32 s6, 17
  s_cbranch_scc1 .Lcase17
  s_cmp_eq_u32 s6, 18
  s_cbranch_scc1 .Lcase18
  s_cmp_eq_u32 s6, 19
  s_cbranch_scc1 .Lcase19
  s_cmp_eq_u32 s6, 20
  s_cbranch_scc1 .Lcase20
  s_cmp_eq_u32 s6, 21
  s_cbranch_scc1 .Lcase21
  s_cmp_eq_u32 s6, 22
  s_cbranch_scc1 .Lcase22
  s_cmp_eq_u32 s6, 23
  s_cbranch_scc1 .Lcase23
  s_cmp_eq_u32 s6, 24
  s_cbranch_scc1 .Lcase24
  s_cmp_eq_u32 s6, 25
  s_cbranch_scc1 .Lcase25
  s_cmp_eq_u32 s6, 26
  s_cbranch_scc1 .Lcase26
  s_cmp_eq_u32 s6, 27
  s_cbranch_scc1 .Lcase27
  s_cmp_eq_u32 s6, 28
  s_cbranch_scc1 .Lcase28
  s_cmp_eq_u32 s6, 29
  s_cbranch_scc1 .Lcase29
  s_cmp_eq_u32 s6, 30
  s_cbranch_scc1 .Lcase30
  s_cmp_eq_u32 s6, 31
  s_cbranch_scc1 .Lcase31
  s_endpgm

// An SGPR that a vector instruction wrote is an address.
.Lcase0:
  v_mov_b32_e32 v2, s2
  v_mov_b32_e32 v3, s3
  s_nop 4
  v_readfirstlane_b32 s4, v2
  v_readfirstlane_b32 s5, v3 // first 0
  s_nop 1
  global_load_dword v5, v1, s[4:5] // then 0
  s_branch .Ldone

.Lcase1:
  v_mov_b32_e32 v2, s2
  v_mov_b32_e32 v3, s3
  s_nop 4
  v_readfirstlane_b32 s4, v2
  v_readfirstlane_b32 s5, v3
  s_nop 1
  s_nop 2
  global_load_dword v5, v1, s[4:5]
  s_branch .Ldone

// An SGPR that a vector instruction wrote chooses a lane.
.Lcase2:
  v_readfirstlane_b32 s4, v4 // first 1
  v_readlane_b32 s5, v1, s4 // then 1
  s_branch .Ldone

.Lcase3:
  v_readfirstlane_b32 s4, v4
  s_nop 3
  v_readlane_b32 s5, v1, s4
  s_branch .Ldone

// DPP reads what the instruction before it wrote.
.Lcase4:
  v_mov_b32_e32 v5, v0 // first 2
  v_mov_b32_dpp v6, v5 row_shl:1 row_mask:0xf bank_mask:0xf // then 2
  s_branch .Ldone

.Lcase5:
  v_mov_b32_e32 v5, v0
  s_nop 1
  v_mov_b32_dpp v6, v5 row_shl:1 row_mask:0xf bank_mask:0xf
  s_branch .Ldone

// The result of a product with 16 passes is stored.
.Lcase6:
  product32 v[16:47] // first 3
  s_nop 7
  global_store_dword v1, v17, s[2:3] // then 3
  s_branch .Ldone

.Lcase7:
  product32 v[16:47]
  s_nop 7
  s_nop 7
  s_nop 3
  global_store_dword v1, v17, s[2:3]
  s_branch .Ldone

// The result of a product with 2 passes is read.
.Lcase8:
  product4 v[16:19] // first 4
  v_add_f32_e32 v20, v16, v17 // then 4
  s_branch .Ldone

.Lcase9:
  product4 v[16:19]
  s_nop 4
  v_add_f32_e32 v20, v16, v17
  s_branch .Ldone

// The result of a product is a source of another one.
.Lcase10:
  product4 v[16:19] // first 5
  s_nop 0
  multiply v[20:23], v16 // then 5
  s_branch .Ldone

.Lcase11:
  product4 v[16:19]
  s_nop 0
  s_nop 3
  multiply v[20:23], v16
  s_branch .Ldone

// A part of the result of a product is added to by another one.
.Lcase12:
  product32 v[16:47] // first 6
  s_nop 1
  add4 v[20:23] // then 6
  s_branch .Ldone

.Lcase13:
  product32 v[16:47]
  s_nop 1
  s_nop 7
  s_nop 7
  add4 v[20:23]
  s_branch .Ldone

// MODE is read behind a write of it.
.Lcase14:
  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 8, 1), 1 // first 7
  s_getreg_b32 s4, hwreg(HW_REG_MODE, 0, 8) // then 7
  s_branch .Ldone

.Lcase15:
  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 8, 1), 1
  s_nop 1
  s_getreg_b32 s4, hwreg(HW_REG_MODE, 0, 8)
  s_branch .Ldone
.if .amdgcn.gfx_generation_minor >= 4

// A load to LDS takes M0 from the instruction before it.
.Lcase16:
  s_mov_b32 m0, 0
  s_mov_b32 m0, 0x100 // first 8
  global_load_lds_dword v1, s[2:3] // then 8
  s_branch .Ldone

.Lcase17:
  s_mov_b32 m0, 0
  s_mov_b32 m0, 0x100
  s_nop 0
  global_load_lds_dword v1, s[2:3]
  s_branch .Ldone
.else
.Lcase16:
.Lcase17:
  s_branch .Ldone
.endif

// Data of a large store are overwritten.
.Lcase18:
  v_mov_b32_e32 v8, 0
  v_mov_b32_e32 v9, 0
  v_mov_b32_e32 v10, 0
  v_mov_b32_e32 v11, 0
  v_lshlrev_b32_e32 v2, 4, v0
  global_store_dwordx4 v2, v[8:11], s[2:3] // first 9
  v_mov_b32_e32 v9, 1 // then 9
  s_branch .Ldone

.Lcase19:
  v_mov_b32_e32 v8, 0
  v_mov_b32_e32 v9, 0
  v_mov_b32_e32 v10, 0
  v_mov_b32_e32 v11, 0
  v_lshlrev_b32_e32 v2, 4, v0
  global_store_dwordx4 v2, v[8:11], s[2:3]
  s_nop 1
  v_mov_b32_e32 v9, 1
  s_branch .Ldone
.if .amdgcn.gfx_generation_minor >= 4

// The result of a transcendental operation is read.
.Lcase20:
  v_mov_b32_e32 v5, 1.0
  v_exp_f32_e32 v6, v5 // first 10
  v_add_f32_e32 v7, v6, v5 // then 10
  s_branch .Ldone

.Lcase21:
  v_mov_b32_e32 v5, 1.0
  v_exp_f32_e32 v6, v5
  s_nop 0
  v_add_f32_e32 v7, v6, v5
  s_branch .Ldone
.else
.Lcase20:
.Lcase21:
  s_branch .Ldone
.endif
.if .amdgcn.gfx_generation_minor >= 4

// A vector instruction writes EXEC before a lane is read.
.Lcase22:
  v_cmpx_le_u32_e64 exec, v4, v0 // first 11
  s_nop 0
  v_readlane_b32 s4, v1, 3 // then 11
  s_branch .Ldone

.Lcase23:
  v_cmpx_le_u32_e64 exec, v4, v0
  s_nop 0
  s_nop 2
  v_readlane_b32 s4, v1, 3
  s_branch .Ldone
.else
.Lcase22:
.Lcase23:
  s_branch .Ldone
.endif
.if .amdgcn.gfx_generation_minor >= 4

// A comparison writes VCC before it chooses.
.Lcase24:
  v_cmp_eq_u32_e32 vcc, v0, v4 // first 12
  v_cndmask_b32_e32 v5, v0, v4, vcc // then 12
  s_branch .Ldone

.Lcase25:
  v_cmp_eq_u32_e32 vcc, v0, v4
  s_nop 1
  v_cndmask_b32_e32 v5, v0, v4, vcc
  s_branch .Ldone
.else
.Lcase24:
.Lcase25:
  s_branch .Ldone
.endif
.if .amdgcn.gfx_generation_minor >= 4

// The result of a product with 8 passes is overwritten.
.Lcase26:
  v_mfma_f32_32x32x8_f16 v[16:31], v[4:5], v[4:5], 0 // first 13
  s_nop 3
  v_mov_b32_e32 v18, 0 // then 13
  s_branch .Ldone

.Lcase27:
  v_mfma_f32_32x32x8_f16 v[16:31], v[4:5], v[4:5], 0
  s_nop 3
  s_nop 7
  v_mov_b32_e32 v18, 0
  s_branch .Ldone
.else
.Lcase26:
.Lcase27:
  s_branch .Ldone
.endif
.if .amdgcn.gfx_generation_minor >= 4

// The matrix that a product adds is overwritten.
.Lcase28:
  v_mov_b32_e32 v12, 0
  v_mfma_f32_16x16x16_f16 v[16:19], v[4:5], v[4:5], v[24:27] // first 14
  s_nop 0
  v_mov_b32_e32 v25, v0 // then 14
  s_branch .Ldone

.Lcase29:
  v_mov_b32_e32 v12, 0
  v_mfma_f32_16x16x16_f16 v[16:19], v[4:5], v[4:5], v[24:27]
  s_nop 0
  s_nop 1
  v_mov_b32_e32 v25, v0
  s_branch .Ldone
.else
.Lcase28:
.Lcase29:
  s_branch .Ldone
.endif
.if .amdgcn.gfx_generation_minor >= 5

// Lanes are exchanged of a register that was written.
.Lcase30:
  v_mov_b32_e32 v6, 0
  v_mov_b32_e32 v5, v0 // first 15
  v_permlane32_swap_b32 v5, v6 // then 15
  s_branch .Ldone

.Lcase31:
  v_mov_b32_e32 v6, 0
  v_mov_b32_e32 v5, v0
  s_nop 1
  v_permlane32_swap_b32 v5, v6
  s_branch .Ldone
.else
.Lcase30:
.Lcase31:
  s_branch .Ldone
.endif

.Ldone:
  s_waitcnt vmcnt(0) lgkmcnt(0)
  s_nop 7
  s_nop 7
  s_nop 7
  global_store_dword v1, v0, s[2:3]
  s_endpgm
.size cases, .-cases

.rodata
.p2align 6
.amdhsa_kernel cases
  .amdhsa_group_segment_fixed_size 1024
  .amdhsa_kernarg_size 12
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr 128
  .amdhsa_next_free_sgpr 32
  .amdhsa_accum_offset 128
.end_amdhsa_kernel

.amdgpu_metadata
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: cases
    .symbol: cases.kd
    .kernarg_segment_size: 12
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 1024
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 32
    .vgpr_count: 128
    .max_flat_workgroup_size: 256
    .args:
      - {.name: data, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}
      - {.name: which, .offset: 8, .size: 4, .value_kind: by_value}
.end_amdgpu_metadata
