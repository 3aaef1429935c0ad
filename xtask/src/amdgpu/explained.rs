//! Where PRLX reads AMD's instructions otherwise than LLVM 22, and why. Every row is a decision.

/// Words that PRLX and LLVM read differently.
pub struct Case<'a> {
    /// Processor, as `gfx942`.
    pub target: &'a str,
    /// The encoding that the words were made for.
    pub encoding: &'a str,
    /// Our text; `None` if opaque.
    pub ours: Option<&'a str>,
    /// LLVM's text; `None` if it refuses or crashes.
    pub llvm: Option<&'a str>,
    /// Whether LLVM crashes.
    pub crash: bool,
}

/// A reason, and the differences that it explains.
type Row = (&'static str, fn(&Case) -> bool);

/// Only the first row that fits counts.
const ROWS: &[Row] = &[
    ("LLVM crashes; PRLX takes it as opaque", |case| case.crash && case.ours.is_none()),
    ("a mask of lanes in vector registers: LLVM prints it, no manual has it", |case| {
        opaque(case, |text| {
            has(text, &["v_cndmask", "_co_ci_u32", "addc_co_u32", "subb_co_u32", "subbrev_co_u32"])
        })
    }),
    ("an odd accumulation register begins a range: LLVM does not check all instructions", |case| {
        opaque(case, odd_accumulation)
    }),
    ("a floating-point atomic that returns into accumulation registers: LLVM refuses some", |case| {
        case.llvm.is_none() && case.ours.is_some_and(|text| text.contains("_atomic_") && text.contains(" a"))
    }),
    ("an odd register begins a range: LLVM does not check this instruction", |case| {
        opaque(case, |text| text.starts_with("ds_read_b96_tr_b6"))
    }),
    ("EXEC as an address: LLVM allows it to a few loads", |case| {
        opaque(case, |text| has(text, &["global_load", "global_store"]) && text.contains("exec"))
    }),
    ("bits of op_sel without meaning: LLVM then prints the operation without halves", |case| {
        case.target == "gfx1100" && opaque(case, |text| has(text, &["_f16", "_i16", "_u16", "_b16"]))
    }),
    ("DPP with constants: LLVM prints the code, not the constant", |case| {
        case.encoding.starts_with("vop3_dpp") && both(case, |text| text.starts_with("v_fmac"))
    }),
    ("DPP with 16-bit operands: LLVM clears a bit of the control", |case| {
        case.llvm.is_some_and(|llvm| {
            let control = |text: &str| {
                text.split_once(" quad_perm")
                    .or_else(|| text.split_once(" dpp8"))
                    .map(|(head, _)| head.to_owned())
            };
            case.ours.and_then(control).is_some_and(|head| control(llvm) == Some(head))
        })
    }),
    ("DPP with 16-bit operands: LLVM reads another control", |case| {
        case.encoding.contains("dpp")
            && case.llvm.is_none()
            && case.ours.is_some_and(|t| has(t, &["mix", "_pk_fp8", "_pk_bf8"]))
    }),
    ("DPP of v_cndmask: LLVM puts the mask between the bars", |case| {
        both(case, |text| text.starts_with("v_cndmask_b32_dpp"))
    }),
    ("DPP of an operation without operands", |case| {
        [case.ours, case.llvm]
            .into_iter()
            .flatten()
            .all(|text| has(text, &["v_nop", "v_clrexcp", "v_pipeflush"]))
    }),
    ("DPP with constants for a half or for an operand that is not: LLVM prints the code", |case| {
        opaque(case, |text| text.contains("_dpp ") && has(text, &["_b16_", "v_fmac", "v_dot2"]))
    }),
    ("a half of a register that is a special scalar source: LLVM prints it", |case| {
        opaque(case, |text| has(text, &["v_swap_b16", "v_cndmask_b16"]))
    }),
    ("typed stores of 16-bit data with a status: LLVM has other names", |case| {
        case.target == "gfx1030"
            && case.ours.is_some_and(|t| t.starts_with("buffer_store_format") && t.ends_with("tfe"))
    }),
    ("interpolation in VOP3 of RDNA 2: graphics only, not read", |case| {
        opaque(case, |text| text.starts_with("v_interp"))
    }),
    ("scaled matrix products of 128 bits: not read", |case| {
        opaque(case, |text| text.starts_with("v_mfma_scale") || text.starts_with("v_mfma_ld_scale"))
    }),
    ("a pair with a literal and a constant K: LLVM prints the literal as a constant", |case| {
        case.encoding == "vopd" && both(case, |text| text.contains("aak") || text.contains("amk"))
    }),
    ("images: operands are not read", |case| {
        has(case.encoding, &["mimg", "vimage", "vsample"])
            || [case.ours, case.llvm].into_iter().flatten().any(|text| text.starts_with("image_"))
    }),
];

/// Why LLVM's text differs, if it is a known reason.
pub fn explained(case: &Case) -> Option<&'static str> {
    ROWS.iter().find(|(_, fits)| fits(case)).map(|(reason, _)| *reason)
}

fn has(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| text.contains(word))
}

/// Whether we are opaque and LLVM's text fits.
fn opaque(case: &Case, fits: impl Fn(&str) -> bool) -> bool {
    case.ours.is_none() && case.llvm.is_some_and(fits)
}

fn both(case: &Case, fits: impl Fn(&str) -> bool) -> bool {
    case.ours.is_some_and(&fits) && case.llvm.is_some_and(&fits)
}

fn odd_accumulation(text: &str) -> bool {
    text.split("a[").skip(1).any(|rest| {
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<u32>().is_ok_and(|first| first % 2 == 1)
    })
}
