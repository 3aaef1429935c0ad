//! Integration tests of plans: cases, the corpus, random kernels, and hashes.

mod corpus;
mod hashes;
mod plans;
mod random;
