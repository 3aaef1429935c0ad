//! The clock of the benchmarks, which take it in by `#[path]`: time of this thread on a processor, so that
//! other work on the machine counts only as far as it disturbs caches and clock rate.

/// Seconds this thread has had on a processor; where the system does not say, seconds since the first call.
///
/// Linux brings its count up to date when a thread yields; between ticks it stands still otherwise.
pub fn processor() -> f64 {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    let start = START.get_or_init(std::time::Instant::now);
    std::thread::yield_now();
    std::fs::read_to_string("/proc/thread-self/schedstat")
        .ok()
        .and_then(|s| s.split(' ').next().and_then(|n| n.parse::<f64>().ok()))
        .map_or_else(|| start.elapsed().as_secs_f64(), |nanos| nanos / 1e9)
}

/// Seconds that one call takes: the best of three rounds, each of enough calls for the clock to be exact.
#[allow(dead_code, reason = "some benchmarks time single launches")]
pub fn best(mut f: impl FnMut()) -> f64 {
    let mut round = |n: u32| {
        let start = processor();
        (0..n).for_each(|_| f());
        processor() - start
    };
    let mut n = 1;
    while round(n) < 0.02 && n < 1 << 26 {
        n *= 4;
    }
    (0..3).map(|_| round(n)).fold(f64::INFINITY, f64::min) / f64::from(n)
}
