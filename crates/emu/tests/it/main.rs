//! Tests of the CPU device.

mod alu;
mod alu_compare;
mod alu_float;
mod alu_half;
mod alu_int;
mod alu_video;
mod amd;
mod amd_cases;
mod amd_coverage;
mod amd_hazards;
mod amd_indexed;
mod amd_lds_loads;
mod amd_matrix;
mod amd_products;
mod amd_races;
mod amd_reference;
mod amd_waves;
mod atomics;
mod bounded;
mod calibration;
mod case;
mod check_bounds;
mod check_init;
mod check_race;
mod check_sync;
mod check_waits;
mod cluster;
mod contract;
mod control;
mod dataflow;
mod exchanges;
mod grid_barrier;
mod memory;
mod mma;
mod mutations;
mod order;
mod tcgen05;
mod tensor;
mod time;
mod wgmma;
mod wide;

#[path = "../../../../tests/nvidia.rs"]
mod nvidia;
#[path = "../../../../tests/tools.rs"]
mod tools;
