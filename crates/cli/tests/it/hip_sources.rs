//! Launch files whose module is a `.hip` file: clang compiles it.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::programs::{folder, prlx};

/// The compiler that `cargo xtask setup` installs.
const CLANG: &str = "clang-22";

/// A kernel that halves the elements above `LIMIT`, in line 9.
const SOURCE: &str = "#define __global__ __attribute__((global))

extern \"C\" __global__ void scale(const float *in, float *out, float factor, int n) {
    int i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
    if (i >= n)
        return;
    float x = in[i] * factor;
#ifdef LIMIT
    if (x > LIMIT)
        x *= 0.5f;
#endif
    out[i] = x;
}
";

/// A launch of the kernel, with more keys.
fn launch(keys: &str) -> String {
    format!(
        "module = 'scale.hip'\n{keys}\ngrid = 2\nblock = 64\n\
         [[arg]]\ntype = 'f32'\niota = 0\nlen = 128\n\
         [[arg]]\nname = 'out'\ntype = 'f32'\nfill = 0\nlen = 128\nout = true\n\
         [[arg]]\nvalue = 0.5\n[[arg]]\nvalue = 128\n"
    )
}

/// A folder with the source; `None` if there is no compiler.
fn sources(name: &str) -> Option<std::path::PathBuf> {
    if Command::new(CLANG).arg("--version").output().is_err() {
        crate::tools::skip(CLANG);
        return None;
    }
    let folder = folder("hip-sources", name);
    fs::write(folder.join("scale.hip"), SOURCE).unwrap();
    Some(folder)
}

/// What `prlx` answers with this compiler, after it has ended with this exit code.
fn with_clang(folder: &Path, words: &[&str], code: i32) -> String {
    let (ended, out, err) = prlx(folder, words, &[("PRLX_HIPCC", CLANG)]);
    assert_eq!(ended, Some(code), "{words:?}\n{out}{err}");
    format!("{out}{err}")
}

#[test]
fn hip_sources_run_and_compare() {
    let Some(folder) = sources("run") else { return };
    with_clang(&folder, &["new", "scale.hip"], 0);
    let made = fs::read_to_string(folder.join("scale.toml")).unwrap();
    assert!(made.contains("module = \"scale.hip\"") && made.contains("\narch   = \"gfx942\""), "{made}");
    assert!(with_clang(&folder, &["run", "scale.toml"], 0).contains("scale  grid (1,1,1)"));

    let write = |name: &str, keys: &str| fs::write(folder.join(name), launch(keys)).unwrap();
    write("a.toml", "defines = { LIMIT = '8.0f' }");
    write("b.toml", "arch = 'gfx1100'\ndefines = { LIMIT = '8.0f' }\nflags = ['-O2']");
    write("c.toml", "defines = ['LIMIT=9.0f']\ninclude = ['.']");
    let out = with_clang(&folder, &["run", "a.toml"], 0);
    assert!(out.contains("out  f32[128]  0.0, 0.5, 1.0,") && out.contains("max 31.75"), "{out}");
    assert!(with_clang(&folder, &["run", "b.toml"], 0).contains("max 31.75"));
    assert!(with_clang(&folder, &["compare", "a.toml", "a.toml"], 0).starts_with("same"));
    // The line of the constant, and its text.
    let out = with_clang(&folder, &["compare", "a.toml", "c.toml", "--level", "values"], 1);
    assert!(out.contains("scale.hip:9") && out.contains("if (x > LIMIT)"), "{out}");
    with_clang(&folder, &["record", "a.toml", "-o", "a.prlx"], 0);
    let out = with_clang(&folder, &["profile", "--auto=function", "a.toml"], 0);
    assert!(out.contains("scale   warp 0"), "{out}");
    let out = with_clang(&folder, &["probe", "inst:st.global { @n[line] = count(); }", "a.toml"], 0);
    assert!(out.contains("scale.hip:12"), "{out}");
}

#[test]
fn errors_of_the_hip_compiler_name_the_line() {
    let Some(folder) = sources("errors") else { return };
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
    write("wrong.toml", &launch("defines = { LIMIT = 'limit' }"));
    let out = with_clang(&folder, &["run", "wrong.toml"], 2);
    let at = "scale.hip:9:13: error: use of undeclared identifier 'limit'";
    assert!(
        out.contains("wrong.toml:1: `module`: clang-22 does not compile scale.hip:") && out.contains(at),
        "{out}"
    );
    write("no-target.toml", &launch("arch = 'sm_90'"));
    let out = with_clang(&folder, &["run", "no-target.toml"], 2);
    assert!(out.contains("no-target.toml:2: `arch`: ") && out.contains("arch = \"gfx942\""), "{out}");
    write("flag.toml", &launch("flags = ['-o', 'x']"));
    assert!(with_clang(&folder, &["run", "flag.toml"], 2).contains("the flag `-o` is not allowed here"));
    write("header.hip", "#include <no/such_header.h>\n");
    write("header.toml", &launch("").replace("scale.hip", "header.hip"));
    let out = with_clang(&folder, &["run", "header.toml"], 2);
    assert!(out.contains("header.hip:1:10: fatal error: 'no/such_header.h' file not found"), "{out}");
}

#[test]
fn a_missing_hip_compiler_is_named() {
    let folder = folder("hip-sources", "missing");
    fs::write(folder.join("scale.hip"), SOURCE).unwrap();
    fs::write(folder.join("a.toml"), launch("")).unwrap();
    let env = [("PRLX_HIPCC", "./no-such-hipcc"), ("PATH", "")];
    let (code, out, err) = prlx(&folder, &["run", "a.toml"], &env);
    assert_eq!(code, Some(2), "{out}{err}");
    assert!(err.contains("a.toml:1: `module`: cannot start ./no-such-hipcc"), "{err}");
    if Path::new("/opt/rocm").exists() {
        return;
    }
    let (code, out, err) = prlx(&folder, &["new", "scale.hip"], &[("PRLX_HIPCC", ""), ("PATH", "")]);
    assert_eq!(code, Some(2), "{out}{err}");
    assert!(err.contains("scale.hip: no HIP compiler is there") && err.contains("set PRLX_HIPCC"), "{err}");
}
