//! Tests of foreign and old formats.

mod compare;
mod cudaprofiler;
mod v1;
