//! Compares kernels by the names that they have in the source.
//!
//! # Invariants
//! [`renamed`] pairs two kernels only if nothing else could be meant: each is the only one of its side that
//! has no match by its exact name and has this name in the source.
//!
//! # Limitations
//! Only C++ names are demangled. Names that other languages mangle are compared as they are.

use std::collections::{BTreeMap, BTreeSet};

use prlx_trace::names::{demangle, display_name};

/// A kernel's name alone, without namespaces, template arguments and parameters.
fn base_name(name: &str) -> String {
    let Some(full) = demangle(name) else { return name.to_owned() };
    let full = full.replace("(anonymous namespace)", "");
    let bare = full.split('<').next().unwrap_or_default();
    bare.rsplit("::").next().unwrap_or_default().to_owned()
}

/// Whether two kernels have the same name in the source.
pub(crate) fn same_in_source(a: &str, b: &str) -> bool {
    a == b || base_name(a) == base_name(b)
}

/// The names of two kernels as reports show them, or mangled if these are equal.
pub(crate) fn distinguish(names: [&str; 2]) -> [String; 2] {
    let shown = names.map(display_name);
    if shown[0] != shown[1] { shown } else { names.map(str::to_owned) }
}

/// Kernels whose exact names differ between the sides: A's name by B's name.
pub(crate) fn renamed<'n>(a: &BTreeSet<&'n str>, b: &BTreeSet<&'n str>) -> BTreeMap<&'n str, &'n str> {
    let by_base = |names: &BTreeSet<&'n str>, other: &BTreeSet<&'n str>| {
        let mut out: BTreeMap<String, Vec<&'n str>> = BTreeMap::new();
        for name in names.difference(other) {
            out.entry(base_name(name)).or_default().push(name);
        }
        out
    };
    let (ours, theirs) = (by_base(a, b), by_base(b, a));
    let pair = |(base_name, theirs): (&String, &Vec<&'n str>)| match (
        ours.get(base_name)?.as_slice(),
        theirs.as_slice(),
    ) {
        ([x], [y]) => Some((*y, *x)),
        _ => None,
    };
    theirs.iter().filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_what_a_build_may_change() {
        for (name, want) in [
            ("_ZN2ns5scaleIfEEvPT_i", "scale"),
            ("_Z5scaleILi4EEvPf", "scale"),
            ("_ZN12_GLOBAL__N_15scaleEPf", "scale"),
            ("scale", "scale"),
            ("_Znonsense", "_Znonsense"),
        ] {
            assert_eq!(base_name(name), want, "{name}");
        }
        let names = ["_Z5scaleIfEvPT_", "_Z5scaleIdEvPT_"];
        assert_eq!(distinguish(names), ["scale<float>", "scale<double>"]);
        // Only the types of parameters differ.
        assert_eq!(distinguish(["_Z5scalePf", "_Z5scalePd"]), ["_Z5scalePf", "_Z5scalePd"]);
    }

    #[test]
    fn only_what_is_alone_pairs() {
        let set = |names: &[&'static str]| names.iter().copied().collect::<BTreeSet<_>>();
        let (float, double, four) = ("_Z5scaleIfEvPT_", "_Z5scaleIdEvPT_", "_Z5scaleILi4EEvPf");
        let one = BTreeMap::from([(double, float)]);
        assert_eq!(renamed(&set(&[float]), &set(&[double])), one);
        assert_eq!(renamed(&set(&[float, four]), &set(&[double, four])), one);
        assert_eq!(renamed(&set(&[float]), &set(&[double, four])), BTreeMap::new());
        assert_eq!(renamed(&set(&[float]), &set(&["other"])), BTreeMap::new());
    }
}
