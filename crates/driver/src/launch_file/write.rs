//! Writes a launch that a program made as a launch file.
//!
//! # Invariants
//! - The launch file reads back: it has the kernel's PTX, every parameter, and the memory behind each pointer
//!   as it was before the launch.
//! - Pointers into one allocation keep their distances, so accesses beyond a buffer reach the same neighbour.
//!
//! # Limitations
//! - Memory behind pointers that lie in memory themselves is not in the file, and neither is memory before a
//!   pointer.
//! - Variables of the module have the values that the module gives them; the file names those that the host
//!   or an earlier launch may have set.
//! - Types of elements are guessed from the instructions that use them.

use std::collections::BTreeMap;
use std::fmt::{Display, Write as _};
use std::io;
use std::path::Path;

use prlx_isa::ptx;
use prlx_isa::view::{Module, Space, Symbol};
use prlx_trace::Dim3;
use prlx_trace::kernel::{Param, Scalar};

use super::param_uses::{ParamUse, param_uses};
use crate::driver::LaunchConfig;
use crate::signature::{Signature, cluster_unit};
use crate::tensor_map::{Swizzle, TensorMap};
use crate::{element, npy};

/// Name of the launch file of a captured launch.
pub const LAUNCH_FILE: &str = "launch.toml";

/// Alignment of the memory of a shared allocation, in bytes: that of `cudaMalloc`, doubled.
const ALIGN: u64 = 512;

/// A launch with its data, as a program made it.
#[derive(Clone, PartialEq, Debug)]
pub struct CapturedLaunch {
    /// Number of the launch in its process.
    pub number: u64,
    /// Name of the kernel in the module.
    pub kernel: String,
    /// PTX of the module.
    pub ptx: String,
    /// Shape of the launch.
    pub config: LaunchConfig,
    /// The parameter buffer.
    pub params: Vec<u8>,
    /// The memory behind the pointers among the parameters, and behind the tensor maps.
    pub buffers: Vec<CapturedBuffer>,
    /// The parameters that are tensor maps, by their byte offset in the parameter buffer.
    pub maps: Vec<(u32, TensorMap)>,
}

/// Memory behind a pointer of a captured launch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CapturedBuffer {
    /// Byte offset of the pointer in the parameter buffer.
    pub offset: u32,
    /// The address that the parameter holds.
    pub address: u64,
    /// Address of the allocation that the pointer leads into.
    pub allocation: u64,
    /// Bytes from the pointer to the next pointer, or to the end of the allocation. `before` has fewer if
    /// the limit of the capture did not allow more.
    pub size: u64,
    /// Content before the launch.
    pub before: Vec<u8>,
    /// Content after the launch; `None` if it could not be read.
    pub after: Option<Vec<u8>>,
}

/// How the line begins that says of a buffer that not all of it was copied.
const PARTIAL: &str = "# The first ";

/// Whether the launch file at `path`, of a captured launch, holds only a part of some buffer.
///
/// # Errors
/// If the file cannot be read.
pub fn is_partial(path: &Path) -> io::Result<bool> {
    Ok(std::fs::read_to_string(path)?.lines().any(|line| line.starts_with(PARTIAL)))
}

/// Name of the NumPy file with the content of a buffer after a captured launch.
pub fn after_file(buffer: &str) -> String {
    format!("{buffer}-after.npy")
}

impl CapturedLaunch {
    /// Writes the launch file, the module and the buffers into a new folder.
    ///
    /// # Errors
    /// If a file exists already or cannot be written.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        std::fs::create_dir(folder)?;
        for (name, bytes) in self.files() {
            std::fs::write(folder.join(name), bytes)?;
        }
        Ok(())
    }

    /// The files of the launch: names and contents. The launch file comes last: if it is there, all are.
    pub fn files(&self) -> Vec<(String, Vec<u8>)> {
        let (module, _) = ptx::read(&self.ptx);
        let signature = Signature::all(&module).into_iter().find(|s| s.name == self.kernel);
        let (params, limits) = signature.map_or_else(Default::default, |s| (s.params, s.limits));
        let function = module.functions.iter().find(|f| f.name == self.kernel);
        let uses = function.map(|f| param_uses(&module, f, &self.ptx)).unwrap_or_default();
        let mut files = vec![("module.ptx".to_owned(), self.ptx.clone().into_bytes())];
        let mut out = self.head(cluster_unit(&limits));
        variables(&mut out, &module);
        let shared = self.shared_allocations();
        let mut later = String::new();
        for (i, param) in params.iter().enumerate() {
            let name = short_name(&self.kernel, &param.name);
            let inside = |b: &&CapturedBuffer| (param.offset..param.offset + param.size).contains(&b.offset);
            let buffers: Vec<&CapturedBuffer> = self.buffers.iter().filter(inside).collect();
            let used = uses.get(i).cloned().unwrap_or_default();
            let _ = write!(out, "\n[[arg]]\nname  = {}\n", quoted(name));
            let map = self.maps.iter().find(|(offset, _)| *offset == param.offset).map(|(_, map)| map);
            match buffers[..] {
                [b] if param.size == 8 => files.extend(buffer(&mut out, name, b, &used, &shared)),
                [b] if map.is_some_and(|map| is_over(map, b)) => {
                    let used = ParamUse { element: map.map(|map| map.ty), ..used };
                    files.extend(buffer(&mut out, name, b, &used, &shared));
                    map.into_iter().for_each(|map| tensor_map(&mut out, map));
                }
                _ if param.size as usize != element::size(param.ty) => {
                    self.structure(&mut out, param);
                    let mut pointers = String::new();
                    for b in buffers {
                        let (member, at) =
                            (format!("{name}_{}", b.offset - param.offset), b.offset - param.offset);
                        let _ = write!(pointers, "{{ offset = {at}, to = {} }}, ", quoted(&member));
                        let _ = write!(later, "\n[[buffer]]\nname  = {}\n", quoted(&member));
                        files.extend(buffer(&mut later, &member, b, &ParamUse::default(), &shared));
                    }
                    if !pointers.is_empty() {
                        let _ = writeln!(out, "pointers = [{}]", pointers.trim_end_matches(", "));
                    }
                }
                _ => {
                    let bits = element::get(param.ty, self.bytes_of(param), 0).unwrap_or_default();
                    let _ = writeln!(out, "value = {}", value(param.ty, bits));
                }
            }
        }
        files.push((LAUNCH_FILE.to_owned(), (out + &later).into_bytes()));
        files
    }

    /// The keys of the launch.
    fn head(&self, unit: Dim3) -> String {
        let c = &self.config;
        let grid = [c.grid.x / unit.x.max(1), c.grid.y / unit.y.max(1), c.grid.z / unit.z.max(1)];
        let mut out = format!(
            "# Launch {} of a program, with the memory that it had. A file *{} has what it left.\n\
             module = \"module.ptx\"\n\
             kernel = {}\n\
             grid   = {grid:?}\n\
             block  = [{}, {}, {}]\n",
            self.number,
            after_file(""),
            quoted(&self.kernel),
            c.block.x,
            c.block.y,
            c.block.z
        );
        if c.cluster.volume() > 1 {
            let _ = writeln!(out, "cluster = [{}, {}, {}]", c.cluster.x, c.cluster.y, c.cluster.z);
        }
        if c.shared > 0 {
            let _ = writeln!(out, "shared = {}", c.shared);
        }
        out
    }

    fn structure(&self, out: &mut String, param: &Param) {
        out.push_str("bytes = \"0x");
        for byte in self.bytes_of(param) {
            let _ = write!(out, "{byte:02x}");
        }
        out.push_str("\"\n");
    }

    fn bytes_of(&self, param: &Param) -> &[u8] {
        self.params.get(param.offset as usize..(param.offset + param.size) as usize).unwrap_or_default()
    }

    /// Where each allocation that several pointers lead into begins in the file, by its address.
    fn shared_allocations(&self) -> BTreeMap<u64, u64> {
        let mut lowest: BTreeMap<u64, (u64, usize)> = BTreeMap::new();
        for b in &self.buffers {
            let entry = lowest.entry(b.allocation).or_insert((b.address, 0));
            *entry = (entry.0.min(b.address), entry.1 + 1);
        }
        let shared = lowest.into_iter().filter(|(_, (_, pointers))| *pointers > 1);
        shared.map(|(allocation, (first, _))| (allocation, first / ALIGN * ALIGN)).collect()
    }
}

/// Names the variables of the module whose values at the launch are not in the file.
fn variables(out: &mut String, module: &Module) {
    // Names with `$` are made by the compiler, as texts of `printf`: nobody else can set those.
    let settable = |s: &&Symbol| {
        let space = matches!(s.space, Space::Global | Space::Const);
        space && !s.is_function && !s.external && s.size > 0 && !s.name.starts_with('$')
    };
    let names: Vec<&str> = module.symbols.iter().filter(settable).map(|s| s.name.as_str()).collect();
    if !names.is_empty() {
        let _ = writeln!(out, "# Variables that have the values of the module here: {}", names.join(", "));
    }
}

/// Whether the captured part of a buffer holds the tensor of a map, in whole elements.
fn is_over(map: &TensorMap, b: &CapturedBuffer) -> bool {
    let bytes = b.before.len() as u64;
    map.extent() <= bytes.into() && bytes.is_multiple_of(map.element())
}

/// Writes the keys of a tensor map over the buffer of the same argument.
fn tensor_map(out: &mut String, map: &TensorMap) {
    fn list<N: Display>(all: &[N]) -> String {
        // Launch files begin with the slowest dimension.
        all.iter().rev().map(N::to_string).collect::<Vec<_>>().join(", ")
    }
    let swizzle = Swizzle::ALL.iter().find(|(_, s)| *s == map.swizzle).map_or("none", |(name, _)| name);
    let _ = writeln!(
        out,
        "tensor_map = true\nsizes = [{}]\nstrides = [{}]\nbox = [{}]\nsteps = [{}]\nswizzle = {}",
        list(&map.sizes),
        list(&map.strides),
        list(&map.tile),
        list(&map.steps),
        quoted(swizzle)
    );
    if map.nan {
        out.push_str("oob = \"nan\"\n");
    }
}

/// Writes the keys of a buffer. Returns the files with its content.
fn buffer(
    out: &mut String,
    name: &str,
    b: &CapturedBuffer,
    used: &ParamUse,
    shared: &BTreeMap<u64, u64>,
) -> Vec<(String, Vec<u8>)> {
    let guess = used.element.unwrap_or(Scalar::U32);
    let whole = |bytes: u64| bytes.is_multiple_of(element::size(guess) as u64);
    let offset = shared.get(&b.allocation).map(|base| b.address - base);
    let ty = if whole(b.before.len() as u64) && offset.is_none_or(whole) { guess } else { Scalar::U8 };
    let file = format!("{name}.npy");
    let _ = write!(out, "type  = \"{}\"\nnpy   = {}\n", ty.name(), quoted(&file));
    if let Some(offset) = offset {
        let _ = write!(out, "allocation = \"{:#x}\"\noffset = {offset}\n", b.allocation);
    }
    if (b.before.len() as u64) < b.size {
        let _ = writeln!(out, "{PARTIAL}{} of {} bytes.", b.before.len(), b.size);
    }
    let changed = b.after.as_ref().is_some_and(|after| *after != b.before);
    if changed || used.written {
        out.push_str("out   = true\n");
    }
    let array = |bytes: &[u8]| {
        let shape = vec![(bytes.len() / element::size(ty)) as u64];
        npy::write(&npy::Array { ty, shape, bytes: bytes.to_vec() })
    };
    let mut files = vec![(file, array(&b.before))];
    files.extend(b.after.as_ref().filter(|_| changed).map(|after| (after_file(name), array(after))));
    files
}

/// A number as launch files spell it; floats that have no exact decimal keep their bits.
fn value(ty: Scalar, bits: u64) -> String {
    let size = element::size(ty) * 2;
    match ty {
        _ if element::is_float(ty) => format!("\"0x{bits:0size$x}\""),
        Scalar::Pred => (bits != 0).to_string(),
        _ => match i64::try_from(element::int_value(ty, bits)) {
            Ok(number) => number.to_string(),
            Err(_) => format!("\"0x{bits:0size$x}\""),
        },
    }
}

/// The name of a parameter without the kernel's, which compilers put before it.
pub fn short_name<'a>(kernel: &str, param: &'a str) -> &'a str {
    param.strip_prefix(kernel).and_then(|rest| rest.strip_prefix('_')).unwrap_or(param)
}

/// A text as a string of TOML.
pub fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out + "\""
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::Job;
    use crate::job::ArgValue;

    #[test]
    fn names_are_quoted_for_toml() {
        assert_eq!(quoted(r#"a "b" \c"#), r#""a \"b\" \\c""#);
        assert_eq!(quoted("a\nb"), "\"a\\u000Ab\"");
    }

    const PTX: &str = "
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 k_x, .param .u64 k_y, .param .align 8 .b8 k_s[16], .param .f32 k_f,
    .param .s64 k_n)
{
    .reg .b64 %rd<4>; .reg .f32 %f<3>;
    ld.param.u64 %rd1, [k_x];
    ld.param.u64 %rd2, [k_y];
    ld.global.f32 %f1, [%rd1];
    st.global.f32 [%rd2], %f1;
    ret;
}";

    #[test]
    fn a_captured_launch_reads_back() {
        let bytes = |n: u8| (0..n).collect::<Vec<u8>>();
        let buffer = |offset, address, before: Vec<u8>, after| CapturedBuffer {
            offset,
            address,
            allocation: if address < 0x9000 { 0x1000 } else { 0x9000 },
            size: before.len() as u64,
            before,
            after,
        };
        let mut params = vec![0; 48];
        params[24..32].copy_from_slice(&7u64.to_le_bytes());
        params[32..36].copy_from_slice(&0.1f32.to_bits().to_le_bytes());
        params[40..48].copy_from_slice(&(-3i64).to_le_bytes());
        let captured = CapturedLaunch {
            number: 3,
            kernel: "k".into(),
            ptx: PTX.into(),
            config: LaunchConfig { shared: 64, ..LaunchConfig::default() },
            params,
            buffers: vec![
                buffer(0, 0x1210, bytes(16), Some(bytes(16))),
                buffer(8, 0x1240, bytes(8), Some(vec![1; 8])),
                buffer(16, 0x9000, bytes(5), None),
            ],
            maps: Vec::new(),
        };
        let files: HashMap<String, Vec<u8>> = captured.files().into_iter().collect();
        let text = String::from_utf8(files[LAUNCH_FILE].clone()).unwrap();
        let job = Job::parse(LAUNCH_FILE, &text, &|name| Ok(files[name].clone())).unwrap();
        let names: Vec<&str> = job.args.iter().map(|a| a.name.as_str()).collect();
        assert_eq!(names, ["x", "y", "s", "f", "n", "s_0"]);
        let buffers: Vec<_> = job
            .args
            .iter()
            .filter_map(|a| if let ArgValue::Buffer(b) = &a.value { Some(b) } else { None })
            .map(|b| (b.ty, b.bytes().into_owned(), b.out, b.place.as_ref().map(|p| p.offset)))
            .collect();
        assert_eq!(
            buffers,
            [
                (Scalar::F32, bytes(16), false, Some(0x10)),
                (Scalar::F32, bytes(8), true, Some(0x40)),
                (Scalar::U8, bytes(5), false, None),
            ]
        );
        assert_eq!(job.args[3].value, ArgValue::Scalar(Scalar::F32, 0.1f32.to_bits().into()));
        assert_eq!(job.args[4].value, ArgValue::Scalar(Scalar::S64, -3i64 as u64));
        let ArgValue::Struct { bytes, pointers } = &job.args[2].value else { panic!("a struct") };
        assert_eq!((bytes[8], pointers.as_slice()), (7, &[(0, 5)][..]));
        assert!(files[&after_file("y")].ends_with(&[1; 8]));
        assert!(!files.contains_key(&after_file("x")));
    }
}
