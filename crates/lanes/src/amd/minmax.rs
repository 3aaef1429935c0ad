//! Minima, maxima and medians of AMD's processors.
//!
//! # Invariants
//! -0 is less than +0. A result is an operand, so that it is denormal if the operand is: the mode for
//! results does not matter (RDNA 4 ISA guide, V_MIN_NUM_F32).

use super::float::{Format, Mode, operations};

#[inline(always)]
fn less<T: Format>(a: T, b: T) -> bool {
    a < b || (a == b && a.negative() && !b.negative())
}

/// The NaN rules of `v_min_f32` and `v_max_f32`; `first` decides between numbers.
#[inline(always)]
fn choose<T: Format>(a: T, b: T, mode: Mode, first: bool) -> T {
    let signaling = |v: T| mode.ieee && v.is_nan() && !v.is_quiet();
    let both = a.is_nan() && b.is_nan();
    let number = if first { a } else { b };
    let r = if b.is_nan() { a } else { number };
    let r = if a.is_nan() { b } else { r };
    let r = if both && !mode.second { a } else { r };
    let r = if signaling(b) { b.quiet() } else { r };
    if signaling(a) { a.quiet() } else { r }
}

/// `v_min_f32`
#[inline(always)]
pub fn min<T: Format>(a: T, b: T, mode: Mode) -> T {
    choose(a, b, mode, less(a, b))
}

/// `v_max_f32`
#[inline(always)]
pub fn max<T: Format>(a: T, b: T, mode: Mode) -> T {
    choose(a, b, mode, less(b, a))
}

/// The NaN rules of `v_min_num_f32`: a number wins over a NaN.
#[inline(always)]
fn number<T: Format>(a: T, b: T, first: bool) -> T {
    let r = if b.is_nan() || first { a } else { b };
    let r = if a.is_nan() { b } else { r };
    if a.is_nan() && b.is_nan() { a.quiet() } else { r }
}

#[inline(always)]
fn min_num<T: Format>(a: T, b: T) -> T {
    number(a, b, less(a, b))
}

#[inline(always)]
fn max_num<T: Format>(a: T, b: T) -> T {
    number(a, b, less(b, a))
}

/// The NaN rules of `v_minimum_f32`: a NaN wins, a signaling one first.
#[inline(always)]
fn propagate<T: Format>(a: T, b: T, first: bool) -> T {
    let signaling = |v: T| v.is_nan() && !v.is_quiet();
    let r = if first { a } else { b };
    let r = if b.is_nan() { b.quiet() } else { r };
    let r = if a.is_nan() { a.quiet() } else { r };
    if signaling(b) && !signaling(a) { b.quiet() } else { r }
}

#[inline(always)]
fn minimum<T: Format>(a: T, b: T) -> T {
    propagate(a, b, less(a, b))
}

#[inline(always)]
fn maximum<T: Format>(a: T, b: T) -> T {
    propagate(a, b, less(b, a))
}

/// The median, with the given minimum of three and maxima. A NaN makes it the minimum.
#[inline(always)]
fn median<T: Format>(v: [T; 3], min3: T, max: impl Fn(T, T) -> T) -> T {
    let [a, b, c] = v;
    let most = max(max(a, b), c);
    if a.is_nan() || b.is_nan() || c.is_nan() {
        min3
    } else if most == a {
        max(b, c)
    } else if most == b {
        max(a, c)
    } else {
        max(a, b)
    }
}

operations! {
    /// `v_min_f32`
    Min: 2 (a, b, c, mode) flush Sources { min(a, b, mode) }
    /// `v_max_f32`
    Max: 2 (a, b, c, mode) flush Sources { max(a, b, mode) }
    /// `v_min3_f32`
    Min3: 3 (a, b, c, mode) flush Sources { min(min(a, b, mode), c, mode) }
    /// `v_max3_f32`
    Max3: 3 (a, b, c, mode) flush Sources { max(max(a, b, mode), c, mode) }
    /// `v_med3_f32`
    Med3: 3 (a, b, c, mode) flush Sources {
        median([a, b, c], min(min(a, b, mode), c, mode), |a, b| max(a, b, mode)) }
    /// `v_minmax_f32`
    MinMax: 3 (a, b, c, mode) flush Sources { max(min(a, b, mode), c, mode) }
    /// `v_maxmin_f32`
    MaxMin: 3 (a, b, c, mode) flush Sources { min(max(a, b, mode), c, mode) }
    /// `v_min_num_f32`
    MinNum: 2 (a, b, c, mode) flush Sources { min_num(a, b) }
    /// `v_max_num_f32`
    MaxNum: 2 (a, b, c, mode) flush Sources { max_num(a, b) }
    /// `v_min3_num_f32`
    Min3Num: 3 (a, b, c, mode) flush Sources { min_num(min_num(a, b), c) }
    /// `v_max3_num_f32`
    Max3Num: 3 (a, b, c, mode) flush Sources { max_num(max_num(a, b), c) }
    /// `v_med3_num_f32`
    Med3Num: 3 (a, b, c, mode) flush Sources {
        median([a, b, c], min_num(min_num(a, b), c), max_num) }
    /// `v_minmax_num_f32`
    MinMaxNum: 3 (a, b, c, mode) flush Sources { max_num(min_num(a, b), c) }
    /// `v_maxmin_num_f32`
    MaxMinNum: 3 (a, b, c, mode) flush Sources { min_num(max_num(a, b), c) }
    /// `v_minimum_f32`
    Minimum: 2 (a, b, c, mode) flush Sources { minimum(a, b) }
    /// `v_maximum_f32`
    Maximum: 2 (a, b, c, mode) flush Sources { maximum(a, b) }
    /// `v_minimum3_f32`
    Minimum3: 3 (a, b, c, mode) flush Sources { minimum(minimum(a, b), c) }
    /// `v_maximum3_f32`
    Maximum3: 3 (a, b, c, mode) flush Sources { maximum(maximum(a, b), c) }
    /// `v_minimummaximum_f32`
    MinimumMaximum: 3 (a, b, c, mode) flush Sources { maximum(minimum(a, b), c) }
    /// `v_maximumminimum_f32`
    MaximumMinimum: 3 (a, b, c, mode) flush Sources { minimum(maximum(a, b), c) }
}
