//! Launch files: every one in the repository loads, and errors name the line.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use prlx_driver::job::ArgValue;
use prlx_driver::tensor_map::Swizzle;
use prlx_driver::{Error, ErrorKind, Job, TensorMap, npy};
use prlx_trace::Dim3;
use prlx_trace::kernel::Scalar;

const PTX: &str = "
.version 8.0
.target sm_80
.address_size 64
.visible .entry _Z5saxpyifPfS_(.param .u32 n, .param .f32 a, .param .u64 x, .param .u64 y) .reqntid 64, 1, 1
{ ret; }
.visible .entry pair(.param .align 4 .b8 p[8]) .maxntid 128
{ ret; }
.visible .entry two() .reqnctapercluster 2, 1, 1 .explicitcluster
{ ret; }
.visible .entry counted() .blocksareclusters .reqntid 64 .reqnctapercluster 2, 3
{ ret; }
.visible .entry some() .explicitcluster .maxclusterrank 4
{ ret; }
.visible .entry plain()
{ ret; }
.visible .entry mapped(.param .align 64 .b8 map[128], .param .u64 x, .param .u64 at)
{ ret; }
";

fn array(ty: Scalar, bytes: &[u8]) -> Vec<u8> {
    npy::write(&npy::Array {
        ty,
        shape: vec![(bytes.len() * 8) as u64 / u64::from(ty.bits())],
        bytes: bytes.to_vec(),
    })
}

fn parse(text: &str) -> Result<Job, Error> {
    let files = HashMap::from([
        ("k.ptx", PTX.as_bytes().to_vec()),
        ("one.ptx", PTX.split("}").next().map(|t| format!("{t}}}")).unwrap().into_bytes()),
        ("empty.ptx", b".version 8.0".to_vec()),
        ("x.npy", array(Scalar::F32, &[0, 0, 128, 63, 0, 0, 0, 64])),
        ("i.npy", array(Scalar::S32, &[1, 0, 0, 0])),
        ("h.npy", array(Scalar::Bf16, &[0x80, 0x3f])),
    ]);
    Job::parse("a.toml", text, &|name| {
        files.get(name).cloned().ok_or_else(|| Error::new(ErrorKind::File, format!("no file {name}")))
    })
}

const HEAD: &str = "module = 'k.ptx'\nkernel = '_Z5saxpyifPfS_'\ngrid = 2\nblock = 64\n";
const ARGS: [&str; 4] =
    ["value = 100", "value = 0.5", "npy = 'x.npy'", "type = 'f32'\nfill = 0\nlen = 2\nout = true"];

fn with(args: &[&str]) -> String {
    args.iter().fold(HEAD.to_owned(), |text, arg| text + "[[arg]]\n" + arg + "\n")
}

#[test]
fn a_whole_file() {
    let text = with(&ARGS) + "expect = 'x.npy'\nrtol = 1e-5\n";
    let job = parse(&text).unwrap();
    assert_eq!(job.kernel, "_Z5saxpyifPfS_");
    assert_eq!(job.config.block, Dim3 { x: 64, y: 1, z: 1 });
    assert_eq!(job.args[0].name, "n");
    assert_eq!(job.args[0].value, ArgValue::Scalar(Scalar::U32, 100));
    assert_eq!(job.args[1].value, ArgValue::Scalar(Scalar::F32, 0x3f00_0000));
    let ArgValue::Buffer(x) = &job.args[2].value else { panic!() };
    assert_eq!((x.ty, x.len(), x.bytes().into_owned()), (Scalar::F32, 2, vec![0, 0, 128, 63, 0, 0, 0, 64]));
    let ArgValue::Buffer(y) = &job.args[3].value else { panic!() };
    assert_eq!((y.size(), y.out, y.expect.as_ref().unwrap().rtol), (8, true, 1e-5));
    assert_eq!(job.params.iter().map(|p| p.offset).collect::<Vec<_>>(), [0, 4, 8, 16]);
    assert_eq!(job.params_size(), 24);
}

#[test]
fn structs() {
    let head = "module = 'k.ptx'\nkernel = 'pair'\ngrid = [2, 3]\nblock = [4, 4, 4]\n[[arg]]\n";
    let bytes = |arg: &str| match parse(&format!("{head}{arg}\n")).map(|j| j.args[0].value.clone()) {
        Ok(ArgValue::Struct { bytes, .. }) => Ok(bytes),
        Ok(other) => panic!("{other:?}"),
        Err(e) => Err(e.message),
    };
    let fields = "fields = [{ type = 'u8', value = 3 }, { type = 'f32', value = 0.5 }]";
    assert_eq!(bytes(fields), Ok(vec![3, 0, 0, 0, 0, 0, 0, 0x3f]));
    assert_eq!(bytes("bytes = '0x0102_0304 05060708'"), Ok((1..9).collect()));
    let short = "a.toml:6: `bytes`: these are 2 bytes, and parameter `p` has 8";
    assert_eq!(bytes("bytes = '0x0102'"), Err(short.into()));
    assert_eq!(bytes("value = 3").unwrap_err(), "a.toml:6: `value`: parameter `p` is a struct of 8 bytes");
}

#[test]
fn one_kernel_needs_no_name() {
    let text = with(&ARGS).replace("kernel = '_Z5saxpyifPfS_'\n", "").replace("k.ptx", "one.ptx");
    assert_eq!(parse(&text).unwrap().kernel, "_Z5saxpyifPfS_");
}

#[test]
fn kernels_have_the_names_of_the_source() {
    let job = parse(&with(&ARGS).replace("'_Z5saxpyifPfS_'", "'saxpy'")).unwrap();
    assert_eq!(job.kernel, "_Z5saxpyifPfS_");
    let module = "
.version 8.0
.target sm_80
.address_size 64
.visible .entry _ZN2ns5scaleIfEEvPT_i() { ret; }
.visible .entry _ZN2ns5scaleIdEEvPT_i() { ret; }
";
    let parse = |kernel: &str| {
        let text = format!("module = 'k.ptx'\nkernel = '{kernel}'\ngrid = 1\nblock = 32\n");
        Job::parse("a.toml", &text, &|_| Ok(module.as_bytes().to_vec())).map(|job| job.kernel)
    };
    assert_eq!(parse("ns::scale<double>").unwrap(), "_ZN2ns5scaleIdEEvPT_i");
    let e = parse("ns::scale").unwrap_err();
    assert_eq!(e.message, "a.toml:2: `kernel`: 2 kernels of k.ptx are called `ns::scale`");
    let help = "they are `void ns::scale<float>(float*, int)`, `void ns::scale<double>(double*, int)`";
    assert_eq!(e.help.as_deref(), Some(help));
    assert!(parse("*scale*").is_err());
}

#[test]
fn buffers_have_shapes() {
    let shape = |y: &str| -> Result<Vec<u64>, String> {
        let job = parse(&with(&[ARGS[0], ARGS[1], ARGS[2], y])).map_err(|e| e.message)?;
        let ArgValue::Buffer(buffer) = &job.args[3].value else { panic!() };
        Ok(buffer.shape.clone())
    };
    assert_eq!(shape("type = 'f32'\nfill = 0\nshape = [2, 3, 4]").unwrap(), [2, 3, 4]);
    assert_eq!(shape("type = 'f32'\narray = [1, 2, 3, 4, 5, 6]\nshape = [3, 2]").unwrap(), [3, 2]);
    for (wrong, message) in [
        ("array = [1, 2]\nshape = [3]", "`shape`: `array` has 2 elements"),
        ("fill = 0\nlen = 3\nshape = [3]", "`len`: `shape` gives the length"),
        ("fill = 0\nshape = []", "`shape`: a buffer has 1 to 8 dimensions"),
        ("fill = 0\nshape = [1000000, 1000000]", "`shape`: more than 274877906944 elements"),
        ("npy = 'x.npy'\nshape = [2]", "`shape`: `npy` has its own shape"),
    ] {
        let e = shape(&format!("type = 'f32'\n{wrong}")).unwrap_err();
        assert!(e.ends_with(message), "{e}");
    }
}

#[test]
fn addresses_of_32_bits_are_refused() {
    let ptx = ".version 8.0\n.target sm_80\n.address_size 32\n.visible .entry k() { ret; }\n";
    let text = "module = 'k.ptx'\ngrid = 1\nblock = 1";
    let e = Job::parse("a.toml", text, &|_| Ok(ptx.into())).unwrap_err();
    assert_eq!(e.message, "a.toml:1: `module`: k.ptx has addresses of 32 bits, which PRLX does not run");
}

#[test]
fn only_cuda_is_compiled() {
    let load = |module: &str, keys: &str| {
        let text = with(&ARGS).replace("k.ptx", module);
        let text = format!("{keys}\n{text}");
        let files = |name: &str| match name.ends_with(".npy") {
            true => Ok(array(Scalar::F32, &[0; 8])),
            false => Ok(PTX.as_bytes().to_vec()),
        };
        Job::parse("a.toml", &text, &files).map(|_| ()).map_err(|e| e.message)
    };
    let all = "arch = 'sm_90a'\ndefines = { N = 4, T = 'float', DEBUG = true }\n\
               include = ['../include']\nflags = ['-O1', '-maxrregcount=32', '-Wno-deprecated']";
    assert_eq!(load("k.cu", all), Ok(()));
    assert_eq!(load("k.cu", "defines = ['N=4', 'DEBUG']"), Ok(()));
    assert_eq!(
        load("k.ptx", "defines = { N = 4 }").unwrap_err(),
        "a.toml:1: `defines`: k.ptx is not compiled; only .cu and .hip files are"
    );
    for (keys, message) in [
        ("arch = 'hopper'", "a.toml:1: `arch`: `hopper` is no target"),
        ("flags = ['-O3', '-ccbin=./sh']", "a.toml:1: `flags`: the flag `-ccbin=./sh` is not allowed here"),
        ("flags = ['-o', 'x']", "a.toml:1: `flags`: the flag `-o` is not allowed here"),
        ("defines = { N = [1] }", "a.toml:1: `N`: a number"),
    ] {
        let e = load("k.cu", keys).unwrap_err();
        assert!(e.starts_with(message), "{e}");
    }
}

#[test]
fn errors_say_where_and_what_to_do() {
    let whole = with(&ARGS);
    let args = |n: usize, arg: &str| {
        let mut all = ARGS;
        all[n] = arg;
        with(&all)
    };
    let cases: &[(String, &str, &str)] = &[
        ("grid = [1".into(), "a.toml:1: ", ""),
        (whole.replace("grid", "gird"), "a.toml:3: unknown key `gird`", "did you mean `grid`?"),
        (
            whole.replace("grid", "weather"),
            "a.toml:3: unknown key `weather`",
            "the keys here are module, arch, kernel",
        ),
        (whole.replace("grid = 2\n", ""), "a.toml:1: `grid` is missing", ""),
        (whole.replace("grid = 2", "grid = 0"), "a.toml:3: `grid`: 0 would start nothing", ""),
        (
            whole.replace("grid = 2", "grid = [1, 70000]"),
            "a.toml:3: `grid`: 70000 is not between 0 and 65535",
            "",
        ),
        (whole.replace("grid = 2", "grid = '2'"), "a.toml:3: `grid`: a number", ""),
        (
            whole.replace("block = 64", "block = [64, 32]"),
            "a.toml:4: `block`: 2048 threads are more than the 1024",
            "",
        ),
        (
            whole.replace("block = 64", "block = 32"),
            "exactly (64,1,1) threads (.reqntid), not (32,1,1)",
            "block = [64, 1, 1]",
        ),
        (whole.replace("k.ptx", "none.ptx"), "a.toml:1: `module`: no file none.ptx", ""),
        (whole.replace("k.ptx", "empty.ptx"), "empty.ptx has no kernel `_Z5saxpyifPfS_`", "none at all"),
        (
            whole.replace("_Z5saxpyifPfS_", "axpy"),
            "a.toml:2: `kernel`: k.ptx has no kernel `axpy`",
            "did you mean `saxpy`?",
        ),
        (
            whole.replace("kernel = '_Z5saxpyifPfS_'\n", ""),
            "k.ptx has 7 kernels",
            "they are saxpy, pair, two, counted, some, plain",
        ),
        (
            with(&ARGS[..2]),
            "takes 4 parameters, and the launch file gives 2 arguments",
            "parameters: n .u32, a .f32, x .u64, y .u64; arguments: #1, #2",
        ),
        (args(0, "valeu = 1"), "a.toml:6: argument 1: unknown key `valeu`", "did you mean `value`?"),
        (args(0, "value = 4294967296"), "a.toml:6: `value`: 4294967296 does not fit u32", ""),
        (args(0, "value = 0.5"), "a.toml:6: `value`: 0.5 is no integer, and the type is u32", ""),
        (args(0, "value = 1\ntype = 'f64'"), "a f64 has 8 bytes, and parameter `n` has 4", ""),
        (
            args(0, "npy = 'x.npy'"),
            "argument 1 (`n`) is a buffer, but parameter `n` (.u32) is no address",
            "",
        ),
        (args(0, "value = 1\nout = true"), "a.toml:7: `out`: only a buffer has this", ""),
        (
            args(0, "name = 'count'"),
            "a.toml:5: argument 1 (`count`): nothing says what it is",
            "a scalar needs `value`",
        ),
        (args(2, "npy = 'x.npy'\nfill = 0"), "`npy` and `fill` can't both be given", ""),
        (args(2, "npy = 'x.npy'\nlen = 3"), "`len`: `npy` has its own length", ""),
        (args(2, "npy = 'x.npy'\ntype = 's32'"), "x.npy holds f32, and `type` says s32", "leave `type` out"),
        (args(2, "npy = 'k.ptx'"), "k.ptx: not a NumPy file", ""),
        (args(2, "fill = 0\nlen = 3"), "argument 3 (`x`): `type` is missing", "type = \"f32\""),
        (args(2, "fill = 0\ntype = 'f32'"), "argument 3 (`x`): `len` is missing", ""),
        (args(2, "fill = 0\ntype = 'f33'\nlen = 1"), "`f33` is no element type", "the types are u8 u16"),
        (args(2, "fill = 300\ntype = 'u8'\nlen = 1"), "300 does not fit u8", ""),
        (args(2, "array = [1, 'x']\ntype = 'u8'"), "`array`: a number", ""),
        (args(2, "random = [3, 3]\ntype = 'u8'\nlen = 1"), "the first number must be less", ""),
        (args(2, "random = [0, 'inf']\ntype = 'f32'\nlen = 1"), "the first number must be less", ""),
        (args(2, "fill = 0\ntype = 'u64'\nlen = 9999999999999999"), "is not between 0 and 137438953472", ""),
        (args(3, "npy = 'x.npy'\nexpect = 'i.npy'"), "i.npy holds s32, and `type` says f32", ""),
        (args(3, "npy = 'i.npy'\nexpect = 'h.npy'"), "h.npy holds bf16", ""),
        (args(3, "npy = 'x.npy'\nrtol = 1"), "`rtol`: only `expect` uses it", ""),
    ];
    for (text, message, help) in cases {
        let e = parse(text).expect_err(message);
        assert!(e.message.contains(message), "wanted {message:?}, got {:?}", e.message);
        assert!(e.help.clone().unwrap_or_default().contains(help), "wanted {help:?}, got {:?}", e.help);
        assert!(e.message.starts_with("a.toml:"), "{}", e.message);
    }
}

#[test]
fn clusters() {
    let parse = |kernel: &str, keys: &str| {
        parse(&format!("module = 'k.ptx'\nkernel = '{kernel}'\nblock = 32\n{keys}\n"))
            .map(|j| j.config.cluster)
    };
    let sized = |x, y| Dim3 { x, y, z: 1 };
    assert_eq!(parse("plain", "grid = 3").unwrap(), sized(1, 1));
    assert_eq!(parse("plain", "grid = [4, 6]\ncluster = [2, 3]").unwrap(), sized(2, 3));
    assert_eq!(parse("two", "grid = 4").unwrap(), sized(2, 1));
    assert_eq!(parse("two", "grid = 4\ncluster = 2").unwrap(), sized(2, 1));
    assert_eq!(parse("some", "grid = 4\ncluster = 4").unwrap(), sized(4, 1));
    assert_eq!(parse("some", "grid = 4\ncluster = 1").unwrap(), sized(1, 1));
    // The file counts clusters of 2 by 3 there.
    let counted =
        Job::parse("a.toml", "module = 'k.ptx'\nkernel = 'counted'\ngrid = [4, 5]\nblock = 64", &|_| {
            Ok(PTX.into())
        });
    assert_eq!(counted.unwrap().config.grid, Dim3 { x: 8, y: 15, z: 1 });
    let wrong = [
        (
            "plain",
            "grid = 3\ncluster = 2",
            "a.toml:5: `cluster`: a grid of 3 CTAs in x can't be divided into clusters of 2",
        ),
        ("plain", "grid = [2, 3]\ncluster = [1, 2]", "a grid of 3 CTAs in y"),
        ("plain", "grid = 32\ncluster = 32", "32 is not between 0 and 16"),
        ("plain", "grid = [8, 8]\ncluster = [8, 4]", "32 CTAs are more than the 16"),
        ("plain", "grid = 8\ncluster = 0", "0 would start nothing"),
        ("two", "grid = 3", "a.toml:4: `grid`: a grid of 3 CTAs in x can't be divided into clusters of 2"),
        ("two", "grid = 4\ncluster = 4", "exactly (2,1,1) CTAs (.reqnctapercluster), not (4,1,1)"),
        (
            "some",
            "grid = 4",
            "a.toml:4: `grid`: kernel `some` must be launched in clusters (.explicitcluster)",
        ),
        ("some", "grid = 8\ncluster = 8", "8 CTAs are more than the 4"),
        (
            "counted",
            "grid = [1, 21846]",
            "21846 clusters of 3 CTAs (.blocksareclusters) are more than the 65535 CTAs",
        ),
        ("counted", "grid = 4\ncluster = 2", "exactly (2,3,1) CTAs (.reqnctapercluster), not (2,1,1)"),
    ];
    for (kernel, keys, message) in wrong {
        let e = parse(kernel, keys).expect_err(keys);
        assert!(e.message.contains(message), "wanted {message:?}, got {:?}", e.message);
    }
}

#[test]
fn good_spellings() {
    let all = [
        ("type = 'u64'\nvalue = 18446744073709551615", 8),
        ("type = 'f64'\nvalue = 'nan'", 8),
        ("value = '0xffff_ffff'", 8),
        ("random = [0, 256]\ntype = 'u8'\nlen = 3", 3),
        ("random = [-1, 1]\ntype = 'bf16'\nlen = 3", 6),
        ("npy = 'h.npy'\nout = 'y.npy'", 2),
        ("npy = 'i.npy'\ntype = 'u32'", 4),
        ("uninit = true\ntype = 'f16'\nlen = 5", 10),
        ("iota = -2\ntype = 's16'\nlen = 4", 8),
        ("array = []\ntype = 'u8'", 0),
        ("array = [1, true, '0xff']\ntype = 'u8'", 3),
    ];
    for (arg, bytes) in all {
        let job = parse(&with(&[ARGS[0], ARGS[1], arg, ARGS[3]])).unwrap_or_else(|e| panic!("{arg}: {e}"));
        match &job.args[2].value {
            ArgValue::Buffer(b) => assert_eq!((b.size(), b.bytes().len()), (bytes, bytes as usize), "{arg}"),
            other => assert!(matches!(other, ArgValue::Scalar(..)), "{arg}"),
        }
    }
}

/// Every damaged form of a good file is an error or a job, never a panic.
#[test]
fn damaged_text() {
    let whole = with(&ARGS) + "expect = 'x.npy'\nrtol = 1e-5\n";
    for i in 0..whole.len() {
        let _ = parse(&whole[..i]);
        for c in ["", "'", "[", "9", "-", "\n", "é"] {
            let _ = parse(&format!("{}{c}{}", &whole[..i], &whole[i + 1..]));
        }
    }
}

fn launch_files(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            launch_files(&path, found);
        } else if path.extension().is_some_and(|e| e == "toml")
            && fs::read_to_string(&path).unwrap().lines().any(|l| l.starts_with("grid"))
        {
            found.push(path);
        }
    }
}

#[test]
fn all_of_the_repository_load() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Vec::new();
    for dir in ["tests/kernels", "examples"] {
        launch_files(&root.join(dir), &mut found);
    }
    assert!(found.len() > 10);
    let errors: Vec<String> =
        found.iter().filter_map(|p| Job::load(p).err()).map(|e| e.to_string()).collect();
    assert!(errors.is_empty(), "{}", errors.join("\n"));
}

#[test]
fn sources_are_found_by_their_last_name() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/threshold/good.toml");
    let job = Job::load(&example).unwrap();
    assert!(job.source_text("/somewhere/else/threshold.cu").unwrap().contains("find_beats"));
    assert!(job.source_text("threshold.cu").is_some());
    assert_eq!(job.source_text("/somewhere/none.cu"), None);
}

/// The arguments of `mapped`: the map, the buffer and the other map.
fn mapped(map: &str, x: &str, at: &str) -> Result<Job, Error> {
    let head = "module = 'k.ptx'\nkernel = 'mapped'\ngrid = 1\nblock = 32\n";
    parse(&format!("{head}[[arg]]\n{map}\n[[arg]]\n{x}\n[[arg]]\n{at}\n"))
}

const OWN: &str = "tensor_map = true\ntype = 'f16'\nfill = 0\nlen = 4096\nsizes = [2, 32, 64]\nbox = [1, 8, 64]\n\
                   steps = [1, 2, 1]\nswizzle = '128B'\noob = 'nan'\nout = true";
const X: &str = "name = 'x'\ntype = 'u32'\niota = 0\nlen = 64";
const OVER: &str = "tensor_map = 'x'\nbox = [16]";

#[test]
fn tensor_maps() {
    let job = mapped(OWN, X, OVER).unwrap();
    let ArgValue::Buffer(own) = &job.args[0].value else { panic!() };
    let map = TensorMap {
        ty: Scalar::F16,
        sizes: vec![64, 32, 2],
        strides: vec![128, 4096],
        tile: vec![64, 8, 1],
        steps: vec![1, 2, 1],
        swizzle: Swizzle::B128,
        nan: true,
    };
    assert_eq!((own.map.as_ref(), own.out), (Some(&map), true));
    let flat = TensorMap {
        ty: Scalar::U32,
        sizes: vec![64],
        strides: vec![],
        tile: vec![16],
        steps: vec![1],
        swizzle: Swizzle::None,
        nan: false,
    };
    assert_eq!(job.args[2].value, ArgValue::TensorMap { over: 1, map: flat });
    let strided =
        mapped(&OWN.replace("sizes = [2, 32, 64]", "sizes = [2, 8, 64]\nstrides = [4096, 256]"), X, OVER);
    let ArgValue::Buffer(own) = &strided.unwrap().args[0].value else { panic!() };
    assert_eq!(own.map.as_ref().unwrap().strides, [256, 4096]);
}

#[test]
fn wrong_tensor_maps() {
    let own = |from: &str, to: &str| mapped(&OWN.replace(from, to), X, OVER);
    let cases = [
        (own("box = [1, 8, 64]\n", ""), "argument 1 (`map`): `box` is missing"),
        (
            own("box = [1, 8, 64]", "box = [8, 64]"),
            "a.toml:11: `box`: it has 2 numbers where a tensor of 3 dimensions",
        ),
        (own("box = [1, 8, 64]", "box = [1, 300, 64]"), "`box`: 300 is not between 1 and 256"),
        (
            own("sizes = [2, 32, 64]", "sizes = [2, 33, 64]"),
            "the tensor takes 8448 bytes, and its buffer has 8192",
        ),
        (
            own("sizes = [2, 32, 64]", "strides = [2]"),
            "`strides`: it has 1 numbers where a tensor of 1 dimensions",
        ),
        (own("swizzle = '128B'", "swizzle = '96B'"), "`swizzle`: \"none\", \"32B\", \"64B\" or \"128B\""),
        (own("oob = 'nan'", "oob = 'one'"), "`oob`: \"zero\" or \"nan\""),
        (own("type = 'f16'", "type = 'u16'"), "`oob`: a u16 can't be NaN"),
        (own("tensor_map = true\n", ""), "only a tensor map has this"),
        (own("tensor_map = true", "tensor_map = false"), "only a tensor map has this"),
        (
            own("fill = 0\nlen = 4096\n", "bytes = '0x00'\n"),
            "a tensor map is over a buffer, and this is none",
        ),
        (mapped(OWN, X, "tensor_map = 'y'\nbox = [16]"), "there is no argument `y` with a buffer"),
        (mapped(OWN, X, "tensor_map = 'at'\nbox = [16]"), "there is no argument `at` with a buffer"),
        (mapped(OWN, X, "tensor_map = 'x'\nlen = 4\nbox = [16]"), "the buffer is that of argument `x`"),
        (mapped(OWN, X, "tensor_map = 4\nbox = [16]"), "`tensor_map`: a text in quotes is expected"),
        (
            parse(&format!("{HEAD}[[arg]]\nvalue = 1\n[[arg]]\n{OVER}\n[[arg]]\n{X}\n[[arg]]\n{X}\n")),
            "a tensor map has 128 bytes or is an address, and parameter `a` has 4",
        ),
    ];
    for (got, message) in cases {
        let e = got.expect_err(message);
        assert!(e.message.contains(message), "wanted {message:?}, got {:?}", e.message);
        assert!(e.message.starts_with("a.toml:"), "{}", e.message);
    }
}

/// The launches whose cost is measured on a GPU are too large for a test, but they read.
#[test]
fn launches_of_the_overhead_suite_read() {
    let bench = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench");
    let mut read = 0;
    // A CTA of a product of matrices does much.
    let folders =
        [("overhead", 100_000), ("torch", 30_000)].map(|(folder, least)| (bench.join(folder), least));
    let files =
        folders.iter().flat_map(|(f, least)| fs::read_dir(f).unwrap().flatten().map(move |e| (f, least, e)));
    for (folder, least, entry) in files {
        let path = entry.path();
        if path.extension().is_none_or(|e| e != "toml") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let job = Job::parse(&path.display().to_string(), &text, &|file| match file.ends_with(".npy") {
            // `inputs.py` makes them; here any will do.
            true => Ok(array(Scalar::S32, &[0; 4])),
            false => Ok(fs::read(folder.join(file)).unwrap()),
        });
        let job = job.unwrap();
        assert!(job.config.grid.volume() * job.config.block.volume() > *least, "{} is small", job.name);
        read += 1;
    }
    assert!(read >= 14 + 5, "{read} launches");
}
