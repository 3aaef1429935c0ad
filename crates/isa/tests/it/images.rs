//! Files that hold kernels: the contents of `tests/images`, the image that a device takes, and arbitrary
//! bytes, which must do no harm.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use prlx_isa::image::{Image, Kind, Target, choose, read, source};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/images")
}

fn file(name: &str) -> Vec<u8> {
    std::fs::read(folder().join(name)).unwrap()
}

fn files() -> Vec<(String, Vec<u8>)> {
    let names = std::fs::read_dir(folder()).unwrap().flatten().map(|e| e.file_name().into_string().unwrap());
    let mut names: Vec<String> =
        names.filter(|n| ["cubin", "fatbin", "o"].iter().any(|e| n.ends_with(e))).collect();
    names.sort();
    assert!(names.len() >= 9);
    names.into_iter().map(|n| (n.clone(), file(&n))).collect()
}

#[test]
fn images_are_listed() {
    let mut got = String::new();
    for (name, bytes) in files() {
        writeln!(got, "{name}").unwrap();
        for i in read(&bytes).unwrap() {
            let (size, kernels) = (i.bytes().unwrap().len(), i.kernels().unwrap().join(" "));
            let ptx =
                i.ptx().unwrap().map_or("no PTX".into(), |t| format!("{} lines of PTX", t.lines().count()));
            let (kind, stored) = (i.kind, i.compression);
            writeln!(
                got,
                "  module {}: {kind:?} {} {stored:?} {size} bytes, {ptx}: {kernels}",
                i.module, i.target
            )
            .unwrap();
            if !i.name.is_empty() || !i.options.is_empty() {
                writeln!(got, "    {:?} {:?}", i.name, i.options).unwrap();
            }
        }
    }
    let list = folder().join("list.txt");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&list, &got).unwrap();
    }
    assert_eq!(got, std::fs::read_to_string(list).unwrap());
}

/// However it is stored, it is the same text; and what a cubin keeps is the same code.
#[test]
fn the_same_ptx_from_everywhere() {
    let plain = source(&file("none.fatbin"), None).unwrap();
    assert!(plain.contains(".target sm_90a") && plain.contains("_Z5twicePfi"));
    for name in ["speed.fatbin", "size.fatbin", "host.o"] {
        assert_eq!(source(&file(name), None).unwrap(), plain, "{name}");
    }
    assert!(source(&file("none.fatbin"), Some(1)).unwrap().contains(".target sm_80"));
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let code = |text: &str| {
        let (module, diagnostics) = prlx_isa::ptx::read(text);
        assert!(diagnostics.is_empty(), "{diagnostics:?}");
        let of = |f: &prlx_isa::view::Function| {
            (f.name.clone(), f.insts.iter().map(|i| words(i.span.of(text))).collect::<Vec<_>>())
        };
        module.functions.iter().map(of).collect::<Vec<_>>()
    };
    assert_eq!(code(&source(&file("lines.cubin"), None).unwrap()), code(&plain));
    for (name, image, said) in [
        ("plain.cubin", None, "no image holds PTX"),
        ("none.fatbin", Some(0), "image 0 holds no PTX"),
        ("none.fatbin", Some(4), "there is no image 4: the file has 4 images"),
    ] {
        let error = source(&file(name), image).unwrap_err();
        assert!(error.what.contains(said), "{error}");
    }
    let two = [file("none.fatbin"), file("size.fatbin")].concat();
    assert!(source(&two, None).unwrap_err().what.contains("more than one module"));
    assert_eq!(read(&two).unwrap().last().unwrap().module, 1);
    assert_eq!(source(&two, Some(7)).unwrap(), plain);
}

#[test]
fn a_device_takes_what_the_driver_takes() {
    let bytes = file("none.fatbin");
    let images = read(&bytes).unwrap();
    let takes = |major, minor| {
        choose(&images, 0, Target::of((major, minor))).map(|i: &Image<'_>| (i.kind, i.target.to_string()))
    };
    let is = |kind, target: &str| Some((kind, target.to_owned()));
    assert_eq!(takes(9, 0), is(Kind::Cubin, "sm_90a"));
    assert_eq!(takes(8, 0), is(Kind::Cubin, "sm_80"));
    assert_eq!(takes(8, 9), is(Kind::Cubin, "sm_80"));
    // `a` is for one device alone: a later one assembles the plain PTX.
    assert_eq!(takes(10, 0), is(Kind::Ptx, "sm_80"));
    assert_eq!(takes(7, 5), None);
    let bytes = file("family.fatbin");
    let images = read(&bytes).unwrap();
    let target = |major, minor| choose(&images, 0, Target::of((major, minor))).map(|i| i.target.to_string());
    assert_eq!(target(10, 0).as_deref(), Some("sm_100f"));
    assert_eq!(target(10, 3).as_deref(), Some("sm_100f"));
    assert_eq!(target(12, 0), None);
    for (text, number, suffix) in
        [("sm_90a", 90, Some('a')), ("compute_100f", 100, Some('f')), ("sm_75", 75, None)]
    {
        assert_eq!(Target::parse(text), Some(Target { number, suffix }));
    }
    for text in ["sm_", "sm_a", "sm_90x", "sm_90aa", "sm_9999", "sm_ 9", "90"] {
        assert_eq!(Target::parse(text), None, "{text}");
    }
}

/// Cut anywhere, and with bytes changed anywhere: errors or other images, never a panic, never more memory
/// than is plausible.
#[test]
fn broken_files() {
    let everything = |bytes: &[u8]| {
        for image in read(bytes).unwrap_or_default() {
            let _ = (image.bytes().map(|b| b.len()), image.ptx(), image.kernels());
        }
        let _ = source(bytes, None);
    };
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    for (_, bytes) in files() {
        for cut in (0..bytes.len()).step_by(bytes.len() / 40 + 1) {
            everything(&bytes[..cut]);
        }
        for _ in 0..400 {
            let mut changed = bytes.clone();
            // Most of the structure is at the beginning or the end.
            let n = changed.len();
            for _ in 0..1 + random(3) {
                let at = match random(3) {
                    0 => random(n.min(128)),
                    1 => n - 1 - random(n.min(2048)),
                    _ => random(n),
                };
                changed[at] = [0, 1, 0x7f, 0x80, 0xff, random(256) as u8][random(6)];
            }
            everything(&changed);
        }
    }
}
