//! Decoders of a file's parts without their checksums, which a fuzzer cannot guess.

use crate::codec::{Codec, Reader, VERSION};
use crate::ids::WarpId;
use crate::kernel::Module;
use crate::launch::{Launch, WarpInfo};
use crate::process::{Process, Skipped};
use crate::{Error, file, frame, validate};

/// Reads `data` as one of a file's parts, chosen by the first byte. What can be read must be written to the
/// same bytes' meaning again.
#[doc(hidden)]
pub fn parts(data: &[u8]) {
    let Some((&part, bytes)) = data.split_first() else { return };
    match part % 7 {
        0 => {
            if let Some(module) = again::<Module>(bytes) {
                let _ = validate::module(&module);
            }
        }
        1 => {
            if let Some(launch) = again::<Launch>(bytes)
                && validate::launch(&launch, &[], 0).is_ok()
            {
                let _ = (launch.warps(), launch.lanes(WarpId(3)));
            }
        }
        2 => {
            let launch = Launch::default();
            let _ = file::take_warps(&mut Reader::new(bytes, VERSION), &launch);
        }
        3 => {
            let Some((&warps, bytes)) = bytes.split_first() else { return };
            let info = |i: u8| WarpInfo { warp: WarpId(i.into()), ..WarpInfo::default() };
            let infos: Vec<WarpInfo> = (0..warps).map(info).collect();
            if let Ok(streams) = frame::parse(bytes, VERSION, 0, &infos, 100) {
                let mut written = Vec::new();
                frame::put(&mut written, 0, &streams);
                assert_eq!(frame::parse(&written, VERSION, 0, &infos, 100).as_ref(), Ok(&streams));
            }
        }
        4 => drop(frame::packing::unpack(bytes, 1 << 20)),
        5 => drop(again::<Process>(bytes)),
        _ => drop(again::<Skipped>(bytes)),
    }
}

/// Reads a value; writes it, and reads that.
fn again<T: Codec + PartialEq + std::fmt::Debug>(bytes: &[u8]) -> Option<T> {
    let read = |bytes: &[u8]| -> Result<T, Error> { Reader::new(bytes, VERSION).whole("part") };
    let value = read(bytes).ok()?;
    let mut written = Vec::new();
    value.put(&mut written);
    assert_eq!(read(&written).as_ref(), Ok(&value));
    Some(value)
}
