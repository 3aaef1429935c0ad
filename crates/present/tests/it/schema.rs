//! The schema of `--json`: `docs/report.schema.json` is what the report's types say, and what is written fits
//! it. `BLESS=1` writes it.

use std::path::PathBuf;

use prlx_analyze::Report;
use serde_json::{Map, Value, json};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The report's own schema, with the two keys before it and those that checks and PRLX's scripts put beside.
fn schema() -> Value {
    let mut schema = schemars::schema_for!(Report).to_value();
    schema["title"] = "A report of prlx".into();
    schema["properties"]["format"] = json!({ "const": "prlx-report" });
    schema["properties"]["version"] =
        json!({ "const": 1, "description": "Goes up when a key changes its meaning or goes." });
    let required = schema["required"].as_array_mut().expect("keys are required");
    required.splice(0..0, ["format".into(), "version".into()]);
    schema
}

#[test]
fn the_published_schema_is_that_of_the_types() {
    let path = root().join("docs/report.schema.json");
    let text = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(kept, text, "BLESS=1 writes it");
}

/// Holds a value against as much of JSON Schema (2020-12) as the schema has, and says where it does not fit.
fn fits(schema: &Value, all: &Value, value: &Value, at: &str) -> Result<(), String> {
    let fail = |what: &str| Err(format!("{at}: {what}: {value}"));
    for (key, want) in schema.as_object().unwrap_or(&Map::new()) {
        match key.as_str() {
            "$ref" => {
                let name =
                    want.as_str().and_then(|r| r.strip_prefix("#/$defs/")).expect("a reference into $defs");
                fits(&all["$defs"][name], all, value, at)?;
            }
            "type" => {
                let is = |t: &Value| match t.as_str().expect("a type") {
                    "null" => value.is_null(),
                    "string" => value.is_string(),
                    "boolean" => value.is_boolean(),
                    "integer" => value.is_u64() || value.is_i64(),
                    "number" => value.is_number(),
                    "array" => value.is_array(),
                    "object" => value.is_object(),
                    other => panic!("type {other}"),
                };
                if !want.as_array().map_or_else(|| is(want), |any| any.iter().any(is)) {
                    return fail(&format!("is no {want}"));
                }
            }
            "properties" => {
                for (name, schema) in want.as_object().expect("properties") {
                    if let Some(v) = value.get(name) {
                        fits(schema, all, v, &format!("{at}.{name}"))?;
                    }
                }
            }
            "required" => {
                let missing =
                    want.as_array().unwrap().iter().find(|n| value.get(n.as_str().unwrap()).is_none());
                if let Some(n) = missing {
                    return fail(&format!("{n} is missing"));
                }
            }
            "items" => {
                for (i, v) in value.as_array().into_iter().flatten().enumerate() {
                    fits(want, all, v, &format!("{at}[{i}]"))?;
                }
            }
            "minItems" if value.as_array().is_some_and(|a| (a.len() as u64) < want.as_u64().unwrap()) => {
                return fail("is too short");
            }
            "maxItems" if value.as_array().is_some_and(|a| a.len() as u64 > want.as_u64().unwrap()) => {
                return fail("is too long");
            }
            "const" if value != want => return fail(&format!("is not {want}")),
            "enum" if !want.as_array().unwrap().contains(value) => return fail("is none of its values"),
            "minimum" if value.as_f64().is_some_and(|v| v < want.as_f64().unwrap()) => {
                return fail("is too small");
            }
            "anyOf" | "oneOf" => {
                let any = want.as_array().unwrap();
                if !any.iter().any(|s| fits(s, all, value, at).is_ok()) {
                    return fail("fits none");
                }
            }
            "$schema" | "$defs" | "title" | "description" | "format" | "default" | "minItems"
            | "maxItems" | "const" | "enum" | "minimum" | "maximum" => {}
            other => panic!("the schema has `{other}`, which nothing here checks"),
        }
    }
    Ok(())
}

#[test]
fn what_is_written_fits() {
    let schema = schema();
    let mut seen = 0;
    for file in std::fs::read_dir(root().join("tests/cases/report")).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_some_and(|e| e == "json") {
            let value: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
            fits(&schema, &schema, &value, &path.display().to_string()).unwrap();
            seen += 1;
            // What is wrong is seen.
            for (at, wrong) in [
                ("verdict", json!("maybe")),
                ("version", json!(2)),
                ("launches", json!({})),
                ("names", json!(["one"])),
            ] {
                let mut other = value.clone();
                other[at] = wrong;
                assert!(fits(&schema, &schema, &other, "").is_err(), "{at} may be anything");
            }
            let mut other = value.clone();
            other.as_object_mut().unwrap().remove("gaps");
            assert!(fits(&schema, &schema, &other, "").is_err());
        }
    }
    assert!(seen >= 3);
}
