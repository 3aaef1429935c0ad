//! Outputs of two launches, compared as numbers.

use super::plain_data::data;

data! {
    /// One output of a launch: a buffer that the launch file names as an output, compared element by element.
    struct Output {
        /// The argument's name.
        name: String,
        /// Type of the elements, as `f32`; both types if the sides have different ones.
        #[cfg_attr(feature = "serde", serde(rename = "type"))]
        ty: String,
        /// Sizes of the dimensions, slowest first (side A's).
        shape: Vec<u64>,
        /// Number of elements (side A's).
        elements: u64,
        /// Number of elements that differ by more than the tolerance.
        differing: u64,
        /// Number of elements that have other bits and are equal within the tolerance.
        within_tolerance: u64,
        /// The tolerance in words; empty if elements must have equal bits.
        tolerance: String,
        /// Why the elements were not compared, if they were not: the sides have different numbers of
        /// elements, or types, or a recording does not hold them. The output then counts as different, unless
        /// it is `unknown`.
        uncompared: Option<String>,
        /// Whether the elements were not compared because a recording does not hold them, and may be equal
        /// within the tolerance. The output then makes the verdict `unknown`.
        unknown: bool,
        /// The first element that differs by more than the tolerance.
        first: Option<ElementDifference>,
        /// The element that differs most: where only one side is a finite number, else by the largest
        /// relative difference, else by the largest absolute difference.
        worst: Option<ElementDifference>,
        /// Largest absolute difference of two finite elements, within the tolerance or not.
        max_absolute: Option<f64>,
        /// Largest relative difference of two finite elements: the difference divided by the larger
        /// magnitude.
        max_relative: Option<f64>,
        /// Largest distance of two finite elements in representable numbers; `None` for integers.
        max_ulp: Option<u64>,
        /// By side: how many elements are NaN.
        nan: [u64; 2],
        /// By side: how many elements are infinite.
        infinite: [u64; 2],
        /// Where the elements are that differ by more than the tolerance; `None` if none does.
        map: Option<DifferenceMap>,
    }
    /// Two elements that differ.
    struct ElementDifference {
        /// The index in the output's shape.
        index: Vec<u64>,
        /// By side: the value, exactly.
        values: [String; 2],
        /// Absolute difference; `None` unless both are finite numbers.
        absolute: Option<f64>,
        /// Absolute difference divided by the larger magnitude; `None` unless both are finite numbers.
        relative: Option<f64>,
        /// Distance in representable numbers; `None` for integers, NaN and infinity.
        ulp: Option<u64>,
    }
    /// A picture of where elements differ. The last dimension runs along the columns, all others along the
    /// rows. Each cell stands for about as many elements as any other.
    struct DifferenceMap {
        /// Number of rows, at most 64.
        rows: u64,
        /// Number of columns, at most 64.
        columns: u64,
        /// Number of differing elements in each cell, row by row.
        counts: Vec<u64>,
    }
}

impl Output {
    /// Whether all elements are equal within the tolerance.
    pub fn agrees(&self) -> bool {
        self.differing == 0 && self.uncompared.is_none()
    }

    /// Whether the output makes the launches different.
    pub fn differs(&self) -> bool {
        !self.agrees() && !self.unknown
    }
}

impl ElementDifference {
    /// The element as `C[3,255]`, for an output of this name.
    pub fn place(&self, output: &str) -> String {
        place(output, &self.index)
    }
}

/// An element of an output as `C[3,255]`; the only element of an array without dimensions as `C`.
pub fn place(output: &str, index: &[u64]) -> String {
    if index.is_empty() {
        return output.to_owned();
    }
    let index: Vec<String> = index.iter().map(u64::to_string).collect();
    format!("{output}[{}]", index.join(","))
}
