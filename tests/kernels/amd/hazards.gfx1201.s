// Instructions of gfx1201 that hardware does not keep apart, in waves of 32 lanes.
// Cases for the check of hazards: the argument `which` chooses one. Case 2n comes too early, and case 2n + 1 waits.
.amdhsa_code_object_version 5
.text
.p2align 8
.type cases,@function
cases:
  s_load_b64 s[2:3], s[0:1], 0x0
  s_load_b32 s6, s[0:1], 0x8
  v_lshlrev_b32_e32 v1, 2, v0
  v_mov_b32_e32 v4, 1
  s_wait_kmcnt 0x0
  // Registers of the products.
  .set n, 4
  .rept 60
  v_mov_b32_e32 v[n], 1
  .set n, n+1
  .endr
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
  s_endpgm

// An SGPR is written behind a read of it, and read.
.Lcase0:
  s_mov_b32 s8, 1
  v_add_nc_u32_e32 v5, s8, v0
  s_mov_b32 s8, 2 // first 0
  v_add_nc_u32_e32 v6, s8, v0 // then 0
  s_branch .Ldone

.Lcase1:
  s_mov_b32 s8, 1
  v_add_nc_u32_e32 v5, s8, v0
  s_mov_b32 s8, 2
  s_wait_alu depctr_sa_sdst(0)
  v_add_nc_u32_e32 v6, s8, v0
  s_branch .Ldone

// A vector instruction writes VCC behind a read of it.
.Lcase2:
  v_cmp_eq_u32_e32 vcc_lo, v0, v4
  s_wait_alu depctr_va_vcc(0)
  v_cndmask_b32_e32 v5, v0, v4, vcc_lo
  v_cmp_eq_u32_e32 vcc_lo, v4, v0 // first 1
  v_cndmask_b32_e32 v6, v0, v4, vcc_lo // then 1
  s_branch .Ldone

.Lcase3:
  v_cmp_eq_u32_e32 vcc_lo, v0, v4
  s_wait_alu depctr_va_vcc(0)
  v_cndmask_b32_e32 v5, v0, v4, vcc_lo
  v_cmp_eq_u32_e32 vcc_lo, v4, v0
  s_wait_alu depctr_va_vcc(0)
  v_cndmask_b32_e32 v6, v0, v4, vcc_lo
  s_branch .Ldone

// Lanes are exchanged behind a comparison that writes EXEC.
.Lcase4:
  s_mov_b32 s4, 0
  s_mov_b32 s5, 0
  v_cmpx_le_u32_e32 v4, v0 // first 2
  v_nop
  v_permlane16_b32 v5, v0, s4, s5 // then 2
  s_branch .Ldone

.Lcase5:
  s_mov_b32 s4, 0
  s_mov_b32 s5, 0
  v_cmpx_le_u32_e32 v4, v0
  v_nop
  v_mov_b32_e32 v0, v0
  v_permlane16_b32 v5, v0, s4, s5
  s_branch .Ldone

// The result of a product is a source of another one.
.Lcase6:
  v_wmma_f32_16x16x16_f16 v[16:23], v[32:35], v[40:43], v[16:23] // first 3
  v_wmma_f32_16x16x16_f16 v[24:31], v[16:19], v[40:43], v[24:31] // then 3
  s_branch .Ldone

.Lcase7:
  v_wmma_f32_16x16x16_f16 v[16:23], v[32:35], v[40:43], v[16:23]
  v_nop
  v_wmma_f32_16x16x16_f16 v[24:31], v[16:19], v[40:43], v[24:31]
  s_branch .Ldone

.Ldone:
  s_mov_b32 exec_lo, -1
  s_wait_loadcnt 0x0
  global_store_b32 v1, v0, s[2:3]
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
  .amdhsa_wavefront_size32 1
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
    .wavefront_size: 32
    .sgpr_count: 32
    .vgpr_count: 128
    .max_flat_workgroup_size: 256
    .args:
      - {.name: data, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}
      - {.name: which, .offset: 8, .size: 4, .value_kind: by_value}
.end_amdgpu_metadata
