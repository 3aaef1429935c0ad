//! (types follow)
