//! rw
use prlx_plan::RecordingRequest;
fn main() {
    let mut args = std::env::args().skip(1);
    let (file, out) = (args.next().unwrap(), args.next().unwrap());
    let level = match args.next().as_deref() {
        Some("fingerprint") => prlx_trace::kernel::Level::Fingerprint,
        _ => prlx_trace::kernel::Level::Path,
    };
    let bytes = std::fs::read(&file).unwrap();
    match prlx_instrument::rewrite_object(&bytes, "x", &RecordingRequest::new(level), &|_| None) {
        Ok(r) => {
            println!(
                "{file} {} -> {} refused {:?}",
                bytes.len(),
                0,
                r.plan.functions.iter().filter_map(|f| f.skipped.clone()).collect::<Vec<_>>()
            );
            std::fs::write(out, r.object.unwrap()).unwrap();
        }
        Err(e) => println!("{file} error {e}"),
    }
}
