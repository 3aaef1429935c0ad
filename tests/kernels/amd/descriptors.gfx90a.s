// Directives with values chosen at random, which the test `amd_descriptors` reads beside the descriptors.
.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"
.amdhsa_code_object_version 5
.text

.p2align 8
.type kernel0,@function
kernel0:
  s_endpgm
.size kernel0, .-kernel0

.rodata
.amdhsa_kernel kernel0
  .amdhsa_group_segment_fixed_size 14805
  .amdhsa_private_segment_fixed_size 274416
  .amdhsa_kernarg_size 1458
  .amdhsa_user_sgpr_private_segment_buffer 0
  .amdhsa_user_sgpr_flat_scratch_init 0
  .amdhsa_user_sgpr_dispatch_ptr 1
  .amdhsa_user_sgpr_queue_ptr 1
  .amdhsa_user_sgpr_kernarg_segment_ptr 0
  .amdhsa_user_sgpr_dispatch_id 0
  .amdhsa_user_sgpr_private_segment_size 0
  .amdhsa_user_sgpr_count 10
  .amdhsa_system_sgpr_private_segment_wavefront_offset 0
  .amdhsa_system_sgpr_workgroup_id_x 0
  .amdhsa_system_sgpr_workgroup_id_y 0
  .amdhsa_system_sgpr_workgroup_id_z 0
  .amdhsa_system_sgpr_workgroup_info 0
  .amdhsa_system_vgpr_workitem_id 1
  .amdhsa_next_free_vgpr 72
  .amdhsa_accum_offset 72
  .amdhsa_next_free_sgpr 13
  .amdhsa_reserve_vcc 1
  .amdhsa_reserve_flat_scratch 1
  .amdhsa_tg_split 0
  .amdhsa_uses_dynamic_stack 0
  .amdhsa_float_round_mode_32 2
  .amdhsa_float_round_mode_16_64 1
  .amdhsa_float_denorm_mode_32 3
  .amdhsa_float_denorm_mode_16_64 1
  .amdhsa_dx10_clamp 0
  .amdhsa_ieee_mode 0
  .amdhsa_fp16_overflow 1
  .amdhsa_exception_fp_ieee_invalid_op 1
  .amdhsa_exception_fp_denorm_src 0
  .amdhsa_exception_fp_ieee_div_zero 1
  .amdhsa_exception_fp_ieee_overflow 0
  .amdhsa_exception_fp_ieee_underflow 1
  .amdhsa_exception_fp_ieee_inexact 0
  .amdhsa_exception_int_div_zero 0
.end_amdhsa_kernel
.text

.p2align 8
.type kernel1,@function
kernel1:
  .fill 64, 4, 0xbf800000
  s_endpgm
.size kernel1, .-kernel1

.rodata
.amdhsa_kernel kernel1
  .amdhsa_group_segment_fixed_size 48248
  .amdhsa_private_segment_fixed_size 145168
  .amdhsa_kernarg_size 267
  .amdhsa_user_sgpr_private_segment_buffer 1
  .amdhsa_user_sgpr_flat_scratch_init 1
  .amdhsa_user_sgpr_dispatch_ptr 1
  .amdhsa_user_sgpr_queue_ptr 0
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_user_sgpr_dispatch_id 1
  .amdhsa_user_sgpr_private_segment_size 1
  .amdhsa_user_sgpr_kernarg_preload_length 1
  .amdhsa_user_sgpr_kernarg_preload_offset 33
  .amdhsa_user_sgpr_count 14
  .amdhsa_system_sgpr_private_segment_wavefront_offset 1
  .amdhsa_system_sgpr_workgroup_id_x 0
  .amdhsa_system_sgpr_workgroup_id_y 1
  .amdhsa_system_sgpr_workgroup_id_z 0
  .amdhsa_system_sgpr_workgroup_info 0
  .amdhsa_system_vgpr_workitem_id 0
  .amdhsa_next_free_vgpr 331
  .amdhsa_accum_offset 32
  .amdhsa_next_free_sgpr 46
  .amdhsa_reserve_vcc 1
  .amdhsa_reserve_flat_scratch 0
  .amdhsa_tg_split 1
  .amdhsa_uses_dynamic_stack 0
  .amdhsa_float_round_mode_32 3
  .amdhsa_float_round_mode_16_64 1
  .amdhsa_float_denorm_mode_32 3
  .amdhsa_float_denorm_mode_16_64 3
  .amdhsa_dx10_clamp 0
  .amdhsa_ieee_mode 1
  .amdhsa_fp16_overflow 0
  .amdhsa_exception_fp_ieee_invalid_op 1
  .amdhsa_exception_fp_denorm_src 1
  .amdhsa_exception_fp_ieee_div_zero 1
  .amdhsa_exception_fp_ieee_overflow 0
  .amdhsa_exception_fp_ieee_underflow 0
  .amdhsa_exception_fp_ieee_inexact 0
  .amdhsa_exception_int_div_zero 0
.end_amdhsa_kernel
.text

.p2align 8
.type kernel2,@function
kernel2:
  .fill 64, 4, 0xbf800000
  s_endpgm
.size kernel2, .-kernel2

.rodata
.amdhsa_kernel kernel2
  .amdhsa_group_segment_fixed_size 57081
  .amdhsa_private_segment_fixed_size 853771
  .amdhsa_kernarg_size 2067
  .amdhsa_user_sgpr_private_segment_buffer 1
  .amdhsa_user_sgpr_flat_scratch_init 0
  .amdhsa_user_sgpr_dispatch_ptr 0
  .amdhsa_user_sgpr_queue_ptr 1
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_user_sgpr_dispatch_id 1
  .amdhsa_user_sgpr_private_segment_size 0
  .amdhsa_user_sgpr_kernarg_preload_length 1
  .amdhsa_user_sgpr_kernarg_preload_offset 380
  .amdhsa_user_sgpr_count 12
  .amdhsa_system_sgpr_private_segment_wavefront_offset 0
  .amdhsa_system_sgpr_workgroup_id_x 0
  .amdhsa_system_sgpr_workgroup_id_y 0
  .amdhsa_system_sgpr_workgroup_id_z 1
  .amdhsa_system_sgpr_workgroup_info 1
  .amdhsa_system_vgpr_workitem_id 0
  .amdhsa_next_free_vgpr 199
  .amdhsa_accum_offset 80
  .amdhsa_next_free_sgpr 22
  .amdhsa_reserve_vcc 0
  .amdhsa_reserve_flat_scratch 1
  .amdhsa_tg_split 1
  .amdhsa_uses_dynamic_stack 1
  .amdhsa_float_round_mode_32 3
  .amdhsa_float_round_mode_16_64 3
  .amdhsa_float_denorm_mode_32 3
  .amdhsa_float_denorm_mode_16_64 0
  .amdhsa_dx10_clamp 1
  .amdhsa_ieee_mode 0
  .amdhsa_fp16_overflow 1
  .amdhsa_exception_fp_ieee_invalid_op 1
  .amdhsa_exception_fp_denorm_src 0
  .amdhsa_exception_fp_ieee_div_zero 1
  .amdhsa_exception_fp_ieee_overflow 0
  .amdhsa_exception_fp_ieee_underflow 1
  .amdhsa_exception_fp_ieee_inexact 1
  .amdhsa_exception_int_div_zero 1
.end_amdhsa_kernel
.text

.p2align 8
.type kernel3,@function
kernel3:
  s_endpgm
.size kernel3, .-kernel3

.rodata
.amdhsa_kernel kernel3
  .amdhsa_group_segment_fixed_size 60418
  .amdhsa_private_segment_fixed_size 286004
  .amdhsa_kernarg_size 745
  .amdhsa_user_sgpr_private_segment_buffer 1
  .amdhsa_user_sgpr_flat_scratch_init 0
  .amdhsa_user_sgpr_dispatch_ptr 0
  .amdhsa_user_sgpr_queue_ptr 0
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_user_sgpr_dispatch_id 1
  .amdhsa_user_sgpr_private_segment_size 0
  .amdhsa_user_sgpr_kernarg_preload_length 0
  .amdhsa_user_sgpr_kernarg_preload_offset 0
  .amdhsa_user_sgpr_count 10
  .amdhsa_system_sgpr_private_segment_wavefront_offset 1
  .amdhsa_system_sgpr_workgroup_id_x 0
  .amdhsa_system_sgpr_workgroup_id_y 1
  .amdhsa_system_sgpr_workgroup_id_z 0
  .amdhsa_system_sgpr_workgroup_info 0
  .amdhsa_system_vgpr_workitem_id 0
  .amdhsa_next_free_vgpr 419
  .amdhsa_accum_offset 64
  .amdhsa_next_free_sgpr 5
  .amdhsa_reserve_vcc 0
  .amdhsa_reserve_flat_scratch 1
  .amdhsa_tg_split 1
  .amdhsa_uses_dynamic_stack 1
  .amdhsa_float_round_mode_32 2
  .amdhsa_float_round_mode_16_64 3
  .amdhsa_float_denorm_mode_32 2
  .amdhsa_float_denorm_mode_16_64 1
  .amdhsa_dx10_clamp 0
  .amdhsa_ieee_mode 1
  .amdhsa_fp16_overflow 0
  .amdhsa_exception_fp_ieee_invalid_op 0
  .amdhsa_exception_fp_denorm_src 1
  .amdhsa_exception_fp_ieee_div_zero 0
  .amdhsa_exception_fp_ieee_overflow 0
  .amdhsa_exception_fp_ieee_underflow 1
  .amdhsa_exception_fp_ieee_inexact 0
  .amdhsa_exception_int_div_zero 0
.end_amdhsa_kernel
.text
