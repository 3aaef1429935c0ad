//! C programs of the driver API, linked with the mock: what it promises of order and errors. Skipped where
//! there is no `cc`.

use std::path::Path;
use std::process::Command;

use crate::tools::skip;

#[test]
fn the_mock_keeps_order() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mock = std::env::current_exe().unwrap().with_file_name("libprlx_mockcuda.so");
    let program = std::env::temp_dir().join(format!("prlx-order-{}", std::process::id()));
    let built = Command::new("cc")
        .arg("-o")
        .arg(&program)
        .arg(root.join("tests/programs/order.c"))
        .arg(&mock)
        .output();
    let Ok(built) = built else { return skip("no cc") };
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let ran = Command::new(&program).env("LD_LIBRARY_PATH", mock.parent().unwrap()).output().unwrap();
    std::fs::remove_file(&program).unwrap();
    let output = String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success() && output == "as promised\n", "{output}");
}
