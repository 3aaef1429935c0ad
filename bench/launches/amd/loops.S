// Loops of one kind of work for `cargo xtask bench emulate-amd`, for waves of 32 lanes (gfx1100) and of 64
// (gfx942). Each makes 200,000 iterations, as those of `bench emulate` do, and stores a word that depends on
// all of them.
//
//     for target in gfx1100 gfx942; do
//       clang-22 --target=amdgcn-amd-amdhsa -mcpu=$target -o loops.$target.co loops.S
//     done
//
// The text has gfx942's mnemonics. LLVM accepts most of them for gfx1100, too.
#ifdef __GFX11__
#define v_add_u32 v_add_nc_u32
#define EXEC exec_lo
#define VCC vcc_lo
#define MASK s6
#define s_and_saveexec s_and_saveexec_b32
#define s_andn2_saveexec s_and_not1_saveexec_b32
#define s_xor_mask s_xor_b32
#define s_or_mask s_or_b32
#define REGISTERS .amdhsa_wavefront_size32 1
#define LANES 32
#else
#define EXEC exec
#define VCC vcc
#define MASK s[6:7]
#define s_and_saveexec s_and_saveexec_b64
#define s_andn2_saveexec s_andn2_saveexec_b64
#define s_xor_mask s_xor_b64
#define s_or_mask s_or_b64
#define REGISTERS .amdhsa_accum_offset 24
#define LANES 64
#endif
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
    REGISTERS
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
  v_cmp_ne_u32 VCC, 0, v8
  s_and_saveexec MASK, VCC
  s_xor_mask MASK, EXEC, MASK
  s_cbranch_execz .Lelse
  v_add_u32 v9, v9, v8
.Lelse:
  s_andn2_saveexec MASK, MASK
  s_cbranch_execz .Ljoin
  v_xor_b32 v7, v7, v4
.Ljoin:
  s_or_mask EXEC, EXEC, MASK
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


#define KERNEL(k) \
  - {.name: k, .symbol: k.kd, .args: [{.name: buffer, .offset: 0, .size: 8, .value_kind: global_buffer, \
     .address_space: global}], .kernarg_segment_align: 8, .kernarg_segment_size: 8, \
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .max_flat_workgroup_size: 1024, \
     .sgpr_count: 16, .vgpr_count: 24, .wavefront_size: LANES}
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
KERNEL(mix)
KERNEL(chain)
KERNEL(rows)
KERNEL(gathers)
KERNEL(divergent)
KERNEL(shared)
...
.end_amdgpu_metadata
