//! Prints the neutral view of PTX files: `cargo run -p prlx-isa --example show -- FILE…`.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    for path in std::env::args().skip(1) {
        match std::fs::read(&path) {
            Err(error) => {
                eprintln!("{path}: {error}");
                code = ExitCode::FAILURE;
            }
            Ok(bytes) => {
                let source = String::from_utf8_lossy(&bytes);
                let (module, diagnostics) = prlx_isa::ptx::read(&source);
                print!("{module}");
                for d in diagnostics {
                    println!("{path}:{:?}: {}: {}", d.span, d.message, d.span.of(&source));
                }
            }
        }
    }
    code
}
