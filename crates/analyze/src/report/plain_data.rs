//! The macro that declares plain, serialisable data types.

/// Declares structs of plain data with their serialisation.
macro_rules! data {
    ($($(#[$m:meta])* struct $name:ident { $($(#[$fm:meta])* $f:ident: $t:ty,)* })*) => { $(
        #[derive(Clone, PartialEq, Debug, Default)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        $(#[$m])*
        pub struct $name { $($(#[$fm])* pub $f: $t,)* }
    )* };
}

pub(crate) use data;
