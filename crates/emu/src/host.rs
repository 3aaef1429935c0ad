//! The interpreter's loop, compiled for what the host's processor can do.

#![allow(unsafe_code, reason = "calling functions that are compiled for features which the caller has checked")]

use crate::alu::Level;
use crate::cta::{Block, Launch, Rng, RunWarp};
use crate::fault::Fault;
use crate::warp::{Stop, Warp};

fn base(w: &mut Warp, l: &Launch<'_>, b: &mut Block, n: u32, rng: Option<&mut Rng>) -> Result<Stop, Box<Fault>> {
    w.run(l, b, n, rng)
}

#[cfg(target_arch = "x86_64")]
macro_rules! clone {
    ($run:ident $get:ident $features:literal) => {
        #[target_feature(enable = $features)]
        fn $run(
            w: &mut Warp,
            l: &Launch<'_>,
            b: &mut Block,
            n: u32,
            rng: Option<&mut Rng>,
        ) -> Result<Stop, Box<Fault>> {
            w.run(l, b, n, rng)
        }
        #[target_feature(enable = $features)]
        fn $get() -> RunWarp {
            $run
        }
    };
}
#[cfg(target_arch = "x86_64")]
clone!(run_avx2 avx2 "avx2,fma,bmi1,bmi2,f16c,popcnt,lzcnt");
#[cfg(target_arch = "x86_64")]
clone!(run_avx512 avx512 "avx2,fma,bmi1,bmi2,f16c,popcnt,lzcnt,avx512f,avx512bw,avx512dq,avx512vl");

/// The loop for a level that this host has.
pub fn run_for(level: Level) -> RunWarp {
    #[cfg(target_arch = "x86_64")]
    {
        let level = level.min(Level::detect());
        if level >= Level::Avx512 {
            // SAFETY: `detect` found every feature of the level (`popcnt`, `lzcnt` and `bmi1` come with AVX2 processors).
            return unsafe { avx512() };
        }
        if level >= Level::Avx2 {
            // SAFETY: likewise.
            return unsafe { avx2() };
        }
    }
    let _ = level;
    base
}
