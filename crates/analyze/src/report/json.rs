//! The JSON form of values from other crates. Masks and raw bits are hexadecimal strings, so that no reader
//! rounds them to floating point. Enumerations are written by name.

use serde::de::Error;

/// Declares the JSON form of an enumeration with a table of names.
macro_rules! named {
    ($($module:ident: $t:ident,)*) => { $(
        pub(crate) mod $module {
            use prlx_trace::kernel::$t;
            use serde::de::Error;
            use serde::{Deserialize, Deserializer, Serializer};

            pub fn serialize<S: Serializer>(value: &$t, s: S) -> Result<S::Ok, S::Error> {
                s.serialize_str(value.name())
            }
            pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<$t, D::Error> {
                let name = String::deserialize(d)?;
                let found = $t::ALL.iter().copied().find(|v| v.name() == name);
                found.ok_or_else(|| D::Error::custom(format!("`{name}` is no {}", stringify!($t))))
            }
        }
    )* };
}
named! {
    class: SiteClass,
    scalar: Scalar,
    level: Level,
    fault_kind: FaultKind,
    node_kind: NodeKind,
}

fn from_hex<E: Error>(text: &str) -> Result<u64, E> {
    let digits = text.strip_prefix("0x").filter(|d| !d.starts_with('+'));
    let value = digits.and_then(|d| u64::from_str_radix(d, 16).ok());
    value.ok_or_else(|| E::custom(format!("`{text}` is no hexadecimal number")))
}

/// A lane mask, in hexadecimal.
pub(crate) mod hex {
    use prlx_trace::LaneMask;
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::report::json::from_hex;

    pub fn serialize<S: Serializer>(mask: &LaneMask, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(&format_args!("{:#x}", mask.0))
    }
    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<LaneMask, D::Error> {
        from_hex(&String::deserialize(d)?).map(LaneMask)
    }
}

/// Raw bits by side, in hexadecimal.
pub(crate) mod hex_pair {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::report::json::from_hex;

    pub fn serialize<S: Serializer>(x: &[Option<u64>; 2], s: S) -> Result<S::Ok, S::Error> {
        x.map(|x| x.map(|x| format!("{x:#x}"))).serialize(s)
    }
    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<[Option<u64>; 2], D::Error> {
        let [a, b] = <[Option<String>; 2]>::deserialize(d)?;
        let read = |x: Option<String>| x.map(|x| from_hex(&x)).transpose();
        Ok([read(a)?, read(b)?])
    }
}

/// A grid or block dimension, as an array of three numbers.
pub(crate) mod dim {
    use prlx_trace::Dim3;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(d: &Dim3, s: S) -> Result<S::Ok, S::Error> {
        [d.x, d.y, d.z].serialize(s)
    }
    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Dim3, D::Error> {
        let [x, y, z] = <[u32; 3]>::deserialize(d)?;
        Ok(Dim3 { x, y, z })
    }
}

/// A site's number, as an integer.
pub(crate) mod site_id {
    use prlx_trace::SiteId;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(id: &SiteId, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_u32(id.0)
    }
    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<SiteId, D::Error> {
        u32::deserialize(d).map(SiteId)
    }
}
