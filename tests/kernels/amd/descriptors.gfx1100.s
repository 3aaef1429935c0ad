// Directives with values chosen at random, which the test `amd_descriptors` reads beside the descriptors.
.amdgcn_target "amdgcn-amd-amdhsa--gfx1100"
.amdhsa_code_object_version 5
.text

.p2align 8
.type kernel0,@function
kernel0:
  s_endpgm
.size kernel0, .-kernel0

.rodata
.amdhsa_kernel kernel0
  .amdhsa_group_segment_fixed_size 16369
  .amdhsa_private_segment_fixed_size 572355
  .amdhsa_kernarg_size 1238
  .amdhsa_user_sgpr_dispatch_ptr 1
  .amdhsa_user_sgpr_queue_ptr 0
  .amdhsa_user_sgpr_kernarg_segment_ptr 0
  .amdhsa_user_sgpr_dispatch_id 0
  .amdhsa_user_sgpr_private_segment_size 1
  .amdhsa_user_sgpr_count 13
  .amdhsa_enable_private_segment 1
  .amdhsa_system_sgpr_workgroup_id_x 0
  .amdhsa_system_sgpr_workgroup_id_y 1
  .amdhsa_system_sgpr_workgroup_id_z 1
  .amdhsa_system_sgpr_workgroup_info 1
  .amdhsa_system_vgpr_workitem_id 0
  .amdhsa_next_free_vgpr 237
  .amdhsa_next_free_sgpr 17
  .amdhsa_wavefront_size32 1
  .amdhsa_workgroup_processor_mode 0
  .amdhsa_memory_ordered 0
  .amdhsa_forward_progress 0
  .amdhsa_uses_dynamic_stack 0
  .amdhsa_float_round_mode_32 1
  .amdhsa_float_round_mode_16_64 0
  .amdhsa_float_denorm_mode_32 3
  .amdhsa_float_denorm_mode_16_64 2
  .amdhsa_dx10_clamp 1
  .amdhsa_ieee_mode 1
  .amdhsa_fp16_overflow 0
  .amdhsa_inst_pref_size 54
  .amdhsa_exception_fp_ieee_invalid_op 0
  .amdhsa_exception_fp_denorm_src 1
  .amdhsa_exception_fp_ieee_div_zero 1
  .amdhsa_exception_fp_ieee_overflow 0
  .amdhsa_exception_fp_ieee_underflow 0
  .amdhsa_exception_fp_ieee_inexact 1
  .amdhsa_exception_int_div_zero 1
.end_amdhsa_kernel
.text

.p2align 8
.type kernel1,@function
kernel1:
  s_endpgm
.size kernel1, .-kernel1

.rodata
.amdhsa_kernel kernel1
  .amdhsa_group_segment_fixed_size 847
  .amdhsa_private_segment_fixed_size 206497
  .amdhsa_kernarg_size 2845
  .amdhsa_user_sgpr_dispatch_ptr 1
  .amdhsa_user_sgpr_queue_ptr 1
  .amdhsa_user_sgpr_kernarg_segment_ptr 0
  .amdhsa_user_sgpr_dispatch_id 1
  .amdhsa_user_sgpr_private_segment_size 0
  .amdhsa_user_sgpr_count 14
  .amdhsa_enable_private_segment 0
  .amdhsa_system_sgpr_workgroup_id_x 0
  .amdhsa_system_sgpr_workgroup_id_y 0
  .amdhsa_system_sgpr_workgroup_id_z 0
  .amdhsa_system_sgpr_workgroup_info 0
  .amdhsa_system_vgpr_workitem_id 1
  .amdhsa_next_free_vgpr 19
  .amdhsa_next_free_sgpr 24
  .amdhsa_wavefront_size32 1
  .amdhsa_workgroup_processor_mode 0
  .amdhsa_memory_ordered 0
  .amdhsa_forward_progress 1
  .amdhsa_uses_dynamic_stack 0
  .amdhsa_float_round_mode_32 1
  .amdhsa_float_round_mode_16_64 1
  .amdhsa_float_denorm_mode_32 3
  .amdhsa_float_denorm_mode_16_64 1
  .amdhsa_dx10_clamp 0
  .amdhsa_ieee_mode 1
  .amdhsa_fp16_overflow 0
  .amdhsa_inst_pref_size 60
  .amdhsa_exception_fp_ieee_invalid_op 0
  .amdhsa_exception_fp_denorm_src 0
  .amdhsa_exception_fp_ieee_div_zero 0
  .amdhsa_exception_fp_ieee_overflow 1
  .amdhsa_exception_fp_ieee_underflow 1
  .amdhsa_exception_fp_ieee_inexact 1
  .amdhsa_exception_int_div_zero 0
.end_amdhsa_kernel
.text

.p2align 8
.type kernel2,@function
kernel2:
  s_endpgm
.size kernel2, .-kernel2

.rodata
.amdhsa_kernel kernel2
  .amdhsa_group_segment_fixed_size 12834
  .amdhsa_private_segment_fixed_size 59251
  .amdhsa_kernarg_size 1380
  .amdhsa_user_sgpr_dispatch_ptr 1
  .amdhsa_user_sgpr_queue_ptr 0
  .amdhsa_user_sgpr_kernarg_segment_ptr 0
  .amdhsa_user_sgpr_dispatch_id 0
  .amdhsa_user_sgpr_private_segment_size 1
  .amdhsa_user_sgpr_count 13
  .amdhsa_enable_private_segment 1
  .amdhsa_system_sgpr_workgroup_id_x 1
  .amdhsa_system_sgpr_workgroup_id_y 1
  .amdhsa_system_sgpr_workgroup_id_z 1
  .amdhsa_system_sgpr_workgroup_info 0
  .amdhsa_system_vgpr_workitem_id 1
  .amdhsa_next_free_vgpr 219
  .amdhsa_next_free_sgpr 27
  .amdhsa_wavefront_size32 1
  .amdhsa_workgroup_processor_mode 0
  .amdhsa_memory_ordered 1
  .amdhsa_forward_progress 0
  .amdhsa_uses_dynamic_stack 0
  .amdhsa_float_round_mode_32 2
  .amdhsa_float_round_mode_16_64 3
  .amdhsa_float_denorm_mode_32 1
  .amdhsa_float_denorm_mode_16_64 2
  .amdhsa_dx10_clamp 0
  .amdhsa_ieee_mode 0
  .amdhsa_fp16_overflow 1
  .amdhsa_inst_pref_size 36
  .amdhsa_exception_fp_ieee_invalid_op 0
  .amdhsa_exception_fp_denorm_src 0
  .amdhsa_exception_fp_ieee_div_zero 1
  .amdhsa_exception_fp_ieee_overflow 1
  .amdhsa_exception_fp_ieee_underflow 0
  .amdhsa_exception_fp_ieee_inexact 1
  .amdhsa_exception_int_div_zero 0
.end_amdhsa_kernel
.text

.p2align 8
.type kernel3,@function
kernel3:
  s_endpgm
.size kernel3, .-kernel3

.rodata
.amdhsa_kernel kernel3
  .amdhsa_group_segment_fixed_size 29265
  .amdhsa_private_segment_fixed_size 1045493
  .amdhsa_kernarg_size 417
  .amdhsa_user_sgpr_dispatch_ptr 0
  .amdhsa_user_sgpr_queue_ptr 1
  .amdhsa_user_sgpr_kernarg_segment_ptr 0
  .amdhsa_user_sgpr_dispatch_id 1
  .amdhsa_user_sgpr_private_segment_size 1
  .amdhsa_user_sgpr_count 16
  .amdhsa_enable_private_segment 1
  .amdhsa_system_sgpr_workgroup_id_x 1
  .amdhsa_system_sgpr_workgroup_id_y 0
  .amdhsa_system_sgpr_workgroup_id_z 1
  .amdhsa_system_sgpr_workgroup_info 0
  .amdhsa_system_vgpr_workitem_id 1
  .amdhsa_next_free_vgpr 133
  .amdhsa_next_free_sgpr 20
  .amdhsa_wavefront_size32 0
  .amdhsa_shared_vgpr_count 0
  .amdhsa_workgroup_processor_mode 1
  .amdhsa_memory_ordered 0
  .amdhsa_forward_progress 0
  .amdhsa_uses_dynamic_stack 0
  .amdhsa_float_round_mode_32 3
  .amdhsa_float_round_mode_16_64 2
  .amdhsa_float_denorm_mode_32 2
  .amdhsa_float_denorm_mode_16_64 1
  .amdhsa_dx10_clamp 1
  .amdhsa_ieee_mode 0
  .amdhsa_fp16_overflow 1
  .amdhsa_inst_pref_size 39
  .amdhsa_exception_fp_ieee_invalid_op 1
  .amdhsa_exception_fp_denorm_src 0
  .amdhsa_exception_fp_ieee_div_zero 1
  .amdhsa_exception_fp_ieee_overflow 1
  .amdhsa_exception_fp_ieee_underflow 0
  .amdhsa_exception_fp_ieee_inexact 0
  .amdhsa_exception_int_div_zero 1
.end_amdhsa_kernel
.text
