//! `prlx probe`: what its tools and tables say of kernels of CUDA and AMD, on the CPU device.

use std::path::Path;

use serde_json::{Value, json};

use crate::programs::prlx;

/// The folder of the kernels.
fn folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cases/probe_tables"))
}

fn run(args: &[&str]) -> String {
    let (code, out, err) = prlx(folder(), args, &[]);
    assert_eq!(code, Some(0), "{args:?}: {err}");
    out
}

/// The rows of a table that a program fills in a launch.
fn rows(program: &str, launch: &str, more: &[&str], table: &str) -> Vec<Value> {
    let out = run(&[&["probe", program, launch, "--json"], more].concat());
    let json: Value = serde_json::from_str(&out).unwrap();
    let tables = json["tables"].as_array().unwrap();
    let found = tables.iter().find(|t| t["name"] == table).unwrap_or_else(|| panic!("{table}: {json}"));
    found["rows"].as_array().unwrap().clone()
}

#[test]
fn operands_of_64_bits_are_one_value_in_amds_code() {
    let program = "inst:mul { @a[nth] = max(in0); @b[nth] = min(in1); } inst:mul:end { @o[nth] = max(out); }
        inst:st.global /type == \"f64\"/ { @s[width, elements] = max(bits(in0)); }";
    let infinity = f64::INFINITY.to_bits();
    for launch in ["double.gfx942.toml", "double.gfx1100.toml"] {
        for more in [&[][..], &["--rewritten"]] {
            let of = |table| rows(program, launch, more, table);
            assert_eq!(
                of("a").iter().map(|r| r["max"].as_f64()).max_by(|a, b| a.partial_cmp(b).unwrap()),
                Some(Some(6.4e301)),
                "{launch} {more:?}"
            );
            assert!(of("a").iter().any(|r| r["max"] == 64.0), "{launch} {more:?}: {:?}", of("a"));
            assert!(of("b").iter().any(|r| r["min"] == 1e300), "{launch} {more:?}");
            assert!(of("o").iter().any(|r| r["max"] == "inf"), "{launch} {more:?}");
            let stored = of("s");
            assert_eq!(
                (&stored[0]["key"], &stored[0]["max"]),
                (&json!([8, 1]), &json!(infinity)),
                "{launch}"
            );
        }
        assert_eq!(rows("nan-origin", launch, &[], "origin")[0]["count"], 64, "{launch}");
        assert_eq!(rows("stored-range", launch, &[], "not_finite")[0]["count"], 64, "{launch}");
    }
}

#[test]
fn tools_know_how_many_lanes_a_wave_has() {
    let turns = rows("bank-conflicts", "upper.gfx942.toml", &[], "turns");
    assert!(turns.iter().any(|r| r["sum"] == 33), "{turns:?}");
    let ratios = rows("bank-conflicts", "upper.gfx942.toml", &[], "ratio");
    assert!(ratios.iter().any(|r| r["avg"] == 16.5), "{ratios:?}");
    // One wave of a CTA: without a second one that the tool waits for.
    let percent = rows("imbalance", "halfend.gfx942.toml", &[], "percent");
    assert_eq!(percent.len(), 1, "{percent:?}");
    let order = rows("barrier-order", "upper.gfx942.toml", &[], "order");
    assert_eq!(order.iter().map(|r| r["key"].clone()).collect::<Vec<_>>(), [json!([0, 0])]);
}

#[test]
fn an_access_of_four_words_is_one_for_the_notes() {
    let out = run(&["run", "copy4.gfx942.toml", "--check", "notes"]);
    assert!(!out.contains("uncoalesced"), "{out}");
}

#[test]
fn halves_that_nvcc_stores_as_integers_are_floats() {
    let greatest = rows("stored-range", "half.toml", &[], "greatest");
    let lines: Vec<u64> = greatest.iter().filter_map(|r| r["key"][0]["line"].as_u64()).collect();
    // 8 stores a half2, 9 a bfloat16.
    assert!(lines.contains(&8) && lines.contains(&9), "{greatest:?}");
}

#[test]
fn markers_have_their_own_lines_and_ends() {
    let line = |name: &str| {
        rows(&format!("marker:{name} {{ @n[line] = count(); }}"), "marked.toml", &[], "n")
        [0]["key"][0]["line"]
        .clone()
    };
    assert_eq!([line("load"), line("done"), line("epilogue")], [8, 19, 20]);
    for more in [&[][..], &["--rewritten"]] {
        for region in ["load", "sync", "compute"] {
            let program = format!("marker:{region}:end {{ @n = count(); }}");
            assert_eq!(rows(&program, "marked.toml", more, "n")[0]["count"], 1920, "{region}");
        }
    }
}

#[test]
fn sites_have_a_file_a_line_and_a_text_and_stay_apart() {
    let sites = rows("marker:done { @n[site] = count(); }", "marked.toml", &[], "n");
    let key = &sites[0]["key"][0];
    assert!(key["file"].as_str().unwrap().ends_with("marked.cu"), "{key}");
    assert_eq!((&key["line"], &key["text"]), (&json!(19), &json!("instant done in marked")));
    let program = "inst:fma, inst:add { @a[site] = count(); @b[site, nth] = count(); }";
    let one = rows(program, "marked.toml", &[], "a").len();
    assert_eq!(one, rows(program, "marked.toml", &[], "b").len());
}

#[test]
fn barriers_are_timed_by_warps_that_advance_together() {
    let last = rows("barrier-order", "marked.toml", &[], "last");
    // Warp 0 has the most to do before line 16.
    let at_16 = last.iter().filter(|r| r["key"][0]["line"] == 16);
    let warps: Vec<&Value> = at_16.map(|r| &r["key"][1]).collect();
    assert_eq!(warps, [&json!(0)], "{last:?}");
}

#[test]
fn a_log_has_room_for_as_many_records_as_on_a_gpu() {
    let program = "record @r(a: u32) per warp grow 2; marker:load:begin { save @r(thread); }";
    for more in [&[][..], &["--rewritten"]] {
        let out = run(&[&["probe", program, "marked.toml", "--json"], more].concat());
        let json: Value = serde_json::from_str(&out).unwrap();
        let table = &json["tables"][0];
        // 12 warps have room for 24 of their 60 records.
        assert_eq!(table["rows"].as_array().unwrap().len(), 24, "{more:?}");
        assert_eq!(table["lost"], 36, "{more:?}");
    }
}

#[test]
fn tables_in_pipes_are_whole_and_name_what_a_key_is() {
    let program = "kernel:begin { @n[(thread + 1) % 2, active, file, kernel, file, func, file, \
        file] = count(); }";
    let out = run(&["probe", program, "marked.toml"]);
    assert!(out.contains("@n[(thread + 1) % 2, active,"), "{out}");
    assert!(out.lines().any(|l| l.contains("0xffffffff") && l.trim_end().ends_with('%')), "{out}");
    assert!(!out.contains('…'), "{out}");
}

#[test]
fn a_ratio_is_that_of_the_columns_beside_it_and_rows_without_an_access_are_left_out() {
    let of = |table| rows("coalescing", "marked.toml", &[], table);
    let (sectors, needed) = (of("sectors"), of("needed"));
    for ratio in of("ratio") {
        let sum = |rows: &[Value]| {
            rows.iter().find(|r| r["key"] == ratio["key"]).and_then(|r| r["sum"].as_f64()).unwrap()
        };
        let wanted = sum(&sectors) / sum(&needed);
        assert!((ratio["avg"].as_f64().unwrap() - wanted).abs() < 1e-9, "{ratio}");
    }
    let program = "inst:st.shared { @m[line] += thread - thread; }";
    assert!(rows(program, "marked.toml", &[], "m").is_empty());
}

#[test]
fn explain_prints_a_tool_without_a_module() {
    let out = run(&["probe", "explain", "coalescing"]);
    assert!(out.starts_with("// Coalescing of accesses") && out.contains("inst:ld.global"), "{out}");
}
