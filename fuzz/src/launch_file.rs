//! Reads any text as a launch file, with its module and `.npy` files, separated by NUL bytes.

use prlx_driver::Job;
use prlx_driver::job::ArgValue;

const PTX: &[u8] = b".version 8.0\n.target sm_80\n.address_size 64
.visible .entry k(.param .u32 n, .param .f32 a, .param .u64 x, .param .align 4 .b8 p[8]) { ret; }";

/// Runs the target on one input.
pub fn run(data: &[u8]) {
    let mut parts = data.splitn(3, |b| *b == 0);
    let text = parts.next().unwrap_or_default();
    let module = parts.next().filter(|m| !m.is_empty()).unwrap_or(PTX);
    let npy = parts.next().unwrap_or_default();
    let Ok(text) = std::str::from_utf8(text) else { return };
    let files = |name: &str| Ok(if name.ends_with(".npy") { npy.to_vec() } else { module.to_vec() });
    match Job::parse("fuzz.toml", text, &files) {
        Ok(job) => {
            for arg in &job.args {
                if let ArgValue::Buffer(buffer) = &arg.value
                    && buffer.size() < 1 << 16
                {
                    assert_eq!(buffer.bytes().len() as u64, buffer.size());
                }
            }
        }
        Err(e) => assert!(e.message.starts_with("fuzz.toml:")),
    }
}
