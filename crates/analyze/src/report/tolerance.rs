//! How far the elements of outputs may be apart.

/// How far elements may be apart and still be equal: by at most `atol + rtol * larger magnitude`, or by at
/// most `ulp` representable numbers.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Tolerance {
    /// Largest difference relative to the larger magnitude. It is added to `atol`.
    pub rtol: f64,
    /// Largest absolute difference. It is added to the relative one.
    pub atol: f64,
    /// Largest distance of two floating-point numbers in representable numbers.
    pub ulp: u64,
    /// Whether all NaNs are equal.
    pub equal_nan: bool,
}

impl Tolerance {
    /// Whether elements are equal only if their bits are.
    pub fn is_exact(&self) -> bool {
        *self == Tolerance::default()
    }

    /// The tolerance in words, such as `rtol 1e-5, atol 1e-8`; empty if elements must have equal bits.
    pub fn words(&self) -> String {
        let limit = |name: &str, x: f64| (x > 0.0).then(|| format!("{name} {x:?}"));
        let ulp = (self.ulp > 0).then(|| format!("{} ulp", self.ulp));
        let nan = self.equal_nan.then(|| "NaN equals NaN".to_owned());
        let all = [limit("rtol", self.rtol), limit("atol", self.atol), ulp, nan];
        all.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// The larger of the relative and absolute tolerances that launch files state for one output. Exact if
    /// none states one; otherwise NaNs are equal, as they are to the launch files.
    pub fn expected(stated: impl Iterator<Item = [f64; 2]>) -> Tolerance {
        stated.filter(|[rtol, atol]| *rtol > 0.0 || *atol > 0.0).fold(
            Tolerance::default(),
            |limits, [rtol, atol]| Tolerance {
                rtol: limits.rtol.max(rtol),
                atol: limits.atol.max(atol),
                equal_nan: true,
                ..limits
            },
        )
    }
}
