//! Prints the neutral view of PTX files and of AMD's code objects:
//! `cargo run -p prlx-isa --example show -- FILE…`.

use std::io::Write;
use std::process::ExitCode;

use prlx_isa::amdgpu::object::CodeObject;

fn shown(path: &str, bytes: &[u8]) -> String {
    if bytes.starts_with(b"\x7fELF") {
        let module = CodeObject::read(bytes).and_then(|object| prlx_isa::amdgpu::read(&object));
        return module.map_or_else(|e| format!("{path}: {e}\n"), |m| format!("{}\n{m}", m.text));
    }
    let source = String::from_utf8_lossy(bytes);
    let (module, diagnostics) = prlx_isa::ptx::read(&source);
    let mut text = module.to_string();
    for d in diagnostics {
        text.push_str(&format!("{path}:{:?}: {}: {}\n", d.span, d.message, d.span.of(&source)));
    }
    text
}

fn main() -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    for path in std::env::args().skip(1) {
        match std::fs::read(&path) {
            Err(error) => {
                eprintln!("{path}: {error}");
                code = ExitCode::FAILURE;
            }
            Ok(bytes) => {
                let text = shown(&path, &bytes);
                // The reader may have closed the pipe.
                if std::io::stdout().write_all(text.as_bytes()).is_err() {
                    return code;
                }
            }
        }
    }
    code
}
