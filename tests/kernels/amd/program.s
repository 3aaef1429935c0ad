// A library for the host with three bundles: two in the usual section, and one that only its wrapper leads to.
// Compilers align bundles to 4096 bytes; 8 are enough here.
  .section .hip_fatbin, "a"
  .p2align 3
first:
  .incbin "first.hipfb"
  .p2align 3
second:
  .incbin "second.hipfb"

  .section .rodata, "a"
  .p2align 3
third:
  .incbin "third.hipfb"

  .section .hipFatBinSegment, "aw"
  .p2align 3
  .long 0x48495046, 1
  .quad first, 0
  .long 0x48495046, 1
  .quad second, 0
  .long 0x48495046, 1
  .quad third, 0
