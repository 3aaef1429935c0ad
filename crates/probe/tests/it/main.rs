//! Integration tests of the probe language, the tools that come with PRLX, and Neutrino's programs.

mod lang;
mod matches;
mod neutrino;
mod tools;
