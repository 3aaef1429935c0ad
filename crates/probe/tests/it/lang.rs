//! The language, by case files: `tests/cases/lang/NAME.prlx` has programs with lines `---- what` between
//! them; in `NAME.out` is what each gives: its canonical form, or the complaints. `BLESS=1` writes those. And
//! random programs, right and broken; and the tables of `docs/probes.md`, which `BLESS=1` writes too.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use prlx_plan::code::{TYPES, Unary};
use prlx_probe::lang::{
    AGGREGATES, BUILTINS, Builtin, Expr, ExprKind, FIELDS, FUNCTIONS, Function, Gives, KEEP, KEYS, LOCALS,
    POINTS, RECORDS, STATEMENTS, Script, Stmt, TABLES, TRACEPOINTS, TRIPS, VARS, parse,
};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The programs of a case file, with their titles.
fn programs(name: &str) -> Vec<(String, String)> {
    let text = fs::read_to_string(root().join("tests/cases/lang").join(name)).unwrap();
    let mut all = vec![(String::new(), String::new())];
    for line in text.lines() {
        match line.strip_prefix("---- ") {
            Some(title) => all.push((title.to_owned(), String::new())),
            None => {
                let last = &mut all.last_mut().unwrap().1;
                *last += line;
                last.push('\n');
            }
        }
    }
    all.retain(|p| !p.1.is_empty());
    all
}

/// What reading a program gives.
fn shown(text: &str) -> String {
    match parse(text) {
        Ok(script) => script.to_string(),
        Err(complaints) => complaints.iter().map(|c| c.render(text, "x.prlx")).collect(),
    }
}

#[test]
fn programs_give_what_is_written() {
    let mut wrong = Vec::new();
    for name in ["right", "wrong"] {
        let mut out = String::new();
        for (title, text) in programs(&format!("{name}.prlx")) {
            assert_eq!(parse(&text).is_ok(), name == "right", "{name}, {title}:\n{}", shown(&text));
            write!(out, "---- {title}\n{}", shown(&text)).unwrap();
        }
        let path = root().join(format!("tests/cases/lang/{name}.out"));
        if std::env::var_os("BLESS").is_some() {
            fs::write(&path, &out).unwrap();
        } else if fs::read_to_string(&path).unwrap_or_default() != out {
            wrong.push(name);
        }
    }
    assert!(wrong.is_empty(), "not as written (look at them with BLESS=1): {wrong:?}");
}

/// The tables of the reference, by the words that begin them there.
fn tables() -> Vec<(&'static str, String)> {
    let table = |head: &[&str], rows: Vec<Vec<String>>| {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let head: Vec<String> = head.iter().map(|h| (*h).to_owned()).collect();
        let rule = format!("|{}\n", "---|".repeat(head.len()));
        line(&head) + &rule + &rows.iter().map(|r| line(r)).collect::<String>()
    };
    let points = TRACEPOINTS.iter().map(|(_, form, doc)| vec![(*form).to_owned(), (*doc).to_owned()]);
    let builtins = BUILTINS.iter().map(|(name, _, gives, doc)| {
        let ty = gives.ty().map_or("text", |ty| ty.name());
        vec![format!("`{name}`"), ty.to_owned(), doc.trim().to_owned()]
    });
    let functions = FUNCTIONS
        .iter()
        .map(|(name, _, params, doc)| vec![format!("`{name}({})`", params.join(", ")), (*doc).to_owned()]);
    let aggregates = AGGREGATES
        .iter()
        .map(|(name, params, doc)| vec![format!("`{name}({})`", params.join(", ")), (*doc).to_owned()]);
    let limits = [
        ("tracepoints of a clause", POINTS as u64),
        ("statements of a clause, with its loops unrolled", STATEMENTS),
        ("iterations of a loop", TRIPS),
        ("local variables of a clause", LOCALS as u64),
        ("declared variables", VARS as u64),
        ("tables", TABLES as u64),
        ("keys of a table", KEYS as u64),
        ("record declarations", RECORDS as u64),
        ("fields of a record", FIELDS as u64),
        ("records kept for each warp or thread", KEEP.into()),
    ];
    let limits = limits.iter().map(|(what, most)| vec![(*what).to_owned(), most.to_string()]);
    vec![
        ("tracepoints", table(&["tracepoint", "sites"], points.collect())),
        ("builtins", table(&["builtin", "type", "meaning"], builtins.collect())),
        ("functions", table(&["function", "meaning"], functions.collect())),
        ("aggregates", table(&["aggregate", "what a row holds"], aggregates.collect())),
        ("limits", table(&["at most", ""], limits.collect())),
    ]
}

/// `docs/probes.md` has the tables of the code, and programs that are right.
#[test]
fn the_reference_is_fresh() {
    let path = root().join("docs/probes.md");
    let kept = fs::read_to_string(&path).unwrap();
    let mut made = kept.clone();
    for (name, table) in tables() {
        let (open, close) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->"));
        let start = made.find(&open).unwrap_or_else(|| panic!("no {open}")) + open.len();
        let end = start + made[start..].find(&close).unwrap_or_else(|| panic!("no {close}"));
        made.replace_range(start..end, &table);
    }
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, &made).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap();
    assert!(
        kept == made,
        "docs/probes.md is not what the tables give: run with BLESS=1, and read what changed"
    );
    let programs: Vec<&str> = kept.split("```prlx\n").skip(1).filter_map(|p| p.split("```").next()).collect();
    assert!(programs.len() > 3);
    programs.into_iter().for_each(|text| drop(there_and_back(text)));
}

/// A script without its text and places in it.
fn bare(mut script: Script) -> Script {
    fn expr(e: &mut Expr) {
        e.span = 0..0;
        match &mut e.kind {
            ExprKind::Unary(_, a) | ExprKind::Not(a) | ExprKind::Cast(_, a) => expr(a),
            ExprKind::Bits(a) | ExprKind::High(a) | ExprKind::Ballot(a) => expr(a),
            ExprKind::Same(a) | ExprKind::Reduce(_, a) => expr(a),
            ExprKind::Binary(_, a, b) | ExprKind::Logic(_, a, b) => [a, b].into_iter().for_each(|e| expr(e)),
            ExprKind::Select(a, b, c) => [a, b, c].into_iter().for_each(|e| expr(e)),
            _ => {}
        }
    }
    fn stmt(s: &mut Stmt) {
        match s {
            Stmt::Local(_, e) | Stmt::Assign(_, e) => expr(e),
            Stmt::Merge { value, span, .. } => {
                *span = 0..0;
                expr(value);
            }
            Stmt::Update(update) => {
                update.span = 0..0;
                update.key.iter_mut().chain(&mut update.value).for_each(expr);
            }
            Stmt::Save { fields, span, .. } => {
                *span = 0..0;
                fields.iter_mut().for_each(expr);
            }
            Stmt::If(e, then, other) => {
                expr(e);
                then.iter_mut().chain(other).for_each(stmt);
            }
            Stmt::For(_, _, body, span) => {
                *span = 0..0;
                body.iter_mut().for_each(stmt);
            }
        }
    }
    script.text.clear();
    script.vars.iter_mut().for_each(|v| v.span = 0..0);
    script.tables.iter_mut().for_each(|t| t.span = 0..0);
    script.records.iter_mut().for_each(|r| r.span = 0..0);
    for clause in &mut script.clauses {
        clause.span = 0..0;
        clause.tracepoints.iter_mut().for_each(|t| t.span = 0..0);
        clause.predicate.iter_mut().for_each(expr);
        clause.body.iter_mut().for_each(stmt);
    }
    script
}

/// Reads a program, its canonical form, and holds them against each other.
fn there_and_back(text: &str) -> Script {
    let script = parse(text).unwrap_or_else(|_| panic!("{}\n{text}", shown(text)));
    let printed = script.to_string();
    let again = parse(&printed).unwrap_or_else(|_| panic!("{}\n{printed}", shown(&printed)));
    assert_eq!(bare(script.clone()), bare(again.clone()), "{text}\n{printed}");
    assert_eq!(printed, again.to_string());
    script
}

#[test]
fn the_canonical_form_means_the_same() {
    programs("right.prlx").iter().for_each(|p| drop(there_and_back(&p.1)));
}

/// An expression with all its parentheses.
fn dump(e: &Expr) -> String {
    match &e.kind {
        ExprKind::Int(n) => n.to_string(),
        ExprKind::In(n) => ["a", "b", "c", "d", "e"][usize::from(*n)].to_owned(),
        ExprKind::Unary(Unary::Not, a) => format!("(~{})", dump(a)),
        ExprKind::Unary(op, a) => format!("({op:?} {})", dump(a)),
        ExprKind::Not(a) => format!("(! {})", dump(a)),
        ExprKind::Binary(op, a, b) => format!("({} {op:?} {})", dump(a), dump(b)),
        ExprKind::Logic(op, a, b) => format!("({} {op:?}{op:?} {})", dump(a), dump(b)),
        ExprKind::Select(a, b, c) => format!("({} ? {} : {})", dump(a), dump(b), dump(c)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn operators_bind_as_in_c() {
    let cases = [
        ("a + b * c", "(a Add (b Mul c))"),
        ("a - b - c", "((a Sub b) Sub c)"),
        ("a / b % c * d", "(((a Div b) Rem c) Mul d)"),
        ("a << b + c >> d", "((a Shl (b Add c)) Shr d)"),
        ("a < b << c", "(a Lt (b Shl c))"),
        ("a & b == c", "(a And (b Eq c))"),
        ("a == b < c", "(a Eq (b Lt c))"),
        ("a | b ^ c & d", "(a Or (b Xor (c And d)))"),
        ("a || b && c || d", "((a OrOr (b AndAnd c)) OrOr d)"),
        ("a && b | c", "(a AndAnd (b Or c))"),
        ("a ? b : c ? d : e", "(a ? b : (c ? d : e))"),
        ("a ? b ? c : d : e", "(a ? (b ? c : d) : e)"),
        ("a || b ? c : d", "((a OrOr b) ? c : d)"),
        ("-a * ~b", "((Neg a) Mul (~b))"),
        ("!(a >= b) && !c", "((! (a Ge b)) AndAnd (! c))"),
        ("(a + b) * c", "((a Add b) Mul c)"),
        ("a - -1", "(a Sub -1)"),
        ("a-1", "(a Sub 1)"),
        ("- -1", "(Neg -1)"),
        ("a != b <= c", "(a Ne (b Le c))"),
        ("a > b + c", "(a Gt (b Add c))"),
    ];
    let named = |text: &str| -> String {
        let letter = |c: char| "abcde".find(c).map_or(c.to_string(), |i| format!("in{i}"));
        text.chars().map(letter).collect()
    };
    for (text, want) in cases {
        let script = parse(&format!("inst:* {{ $x = {}; }}", named(text)));
        // Some of these are of no type: operators bind before that matters, so they stand in a predicate of
        // unknowns.
        let script = script.unwrap_or_else(|c| panic!("{text}: {c:?}"));
        let Stmt::Local(_, e) = &script.clauses[0].body[0] else { panic!() };
        assert_eq!(dump(e), want, "{text}");
    }
}

#[test]
fn spans_are_of_what_they_say() {
    let text = "block { $x = (1 + clock) * min(sm, 2); }";
    let script = parse(text).unwrap();
    let Stmt::Local(_, e) = &script.clauses[0].body[0] else { panic!() };
    assert_eq!(&text[e.span.clone()], "(1 + clock) * min(sm, 2)".trim_start_matches('('));
    let ExprKind::Binary(_, _, b) = &e.kind else { panic!() };
    assert_eq!(&text[b.span.clone()], "min(sm, 2)");
}

#[test]
fn every_builtin_and_function_is_there() {
    for (name, builtin, gives, _) in BUILTINS {
        let point = if *builtin == Builtin::Taken { "decision" } else { "inst:*" };
        let script = there_and_back(&format!("{point} {{ @[{name}] = count(); }}"));
        let Stmt::Update(update) = &script.clauses[0].body[0] else { panic!() };
        assert_eq!(update.key[0].kind, ExprKind::Builtin(*builtin), "{name}");
        let used = match gives {
            Gives::Text => format!("{point} /{name} == \"a*\"/ {{}}"),
            _ => format!("{point} {{ $x = u64({name}); }}"),
        };
        there_and_back(&used);
    }
    for (name, function, params, _) in FUNCTIONS {
        let arg = match function {
            Function::Unary(Unary::Finite) | Function::Bits => "1.5",
            Function::Ballot => "sm == 1",
            Function::High => "in1",
            _ => "clock",
        };
        let script =
            there_and_back(&format!("branch {{ $x = {name}({}); }}", vec![arg; params.len()].join(", ")));
        let Stmt::Local(_, e) = &script.clauses[0].body[0] else { panic!() };
        let is = match &e.kind {
            ExprKind::Unary(op, _) => Function::Unary(*op),
            ExprKind::Binary(op, ..) => Function::Binary(*op),
            ExprKind::Bits(_) => Function::Bits,
            ExprKind::High(_) => Function::High,
            ExprKind::Ballot(_) => Function::Ballot,
            ExprKind::Same(_) => Function::Same,
            ExprKind::Reduce(how, _) => Function::Reduce(*how),
            other => panic!("{name}: {other:?}"),
        };
        assert_eq!(is, *function);
    }
    for (name, ty) in TYPES {
        let script = there_and_back(&format!("thread v: {name}; block {{ v = {name}(clock); }}"));
        assert_eq!(script.vars[0].ty, *ty);
    }
    for (name, params, _) in AGGREGATES {
        let args = ["clock", "-4", "4", "2"];
        let script =
            there_and_back(&format!("block {{ @x = {name}({}); }}", args[..params.len()].join(", ")));
        assert!(format!("{:?}", script.tables[0].aggregate).to_lowercase().starts_with(name));
    }
    for (kind, form, _) in TRACEPOINTS {
        // Whatever stands between backquotes.
        for written in form.split('`').skip(1).step_by(2).filter(|w| w.starts_with(kind)) {
            there_and_back(&format!("{} {{ @ = count(); }}", written.replace("OPCODE", "ld.global")));
        }
    }
}

#[test]
fn depth_and_length_are_bounded() {
    let deep = [
        format!("block {{ $x = {}1{}; }}", "(".repeat(100_000), ")".repeat(100_000)),
        format!("block {{ $x = {}1; }}", "- ".repeat(100_000)),
        format!("block {{ $x = 1{}; }}", " + 1".repeat(100_000)),
        format!("block {{ $x = {}1; }}", "sm == 1 ? 2 : ".repeat(100_000)),
        format!("block {{ {} }}", "if (sm == 1) { ".repeat(100_000)),
        format!("block {{ {} {{}} }}", "if (sm == 1) {} else ".repeat(100_000)),
        format!("block {{ {} }}", "for $i in 0..2 { ".repeat(100_000)),
        "block { $x = min(".repeat(100_000),
        "#".repeat(1_000_000),
        "x#".repeat(500_000),
        "block { ".repeat(100_000),
        "block { @a = count(); @a = sum(1); } ".repeat(50_000),
        "block { $y = nope; } ".repeat(50_000),
        format!("block {{ {} }}", "$y = nope; ".repeat(50_000)),
    ];
    for text in deep {
        let complaints = parse(&text).unwrap_err();
        assert!((1..=100).contains(&complaints.len()), "{}", complaints.len());
        assert!(!complaints[0].render(&text, "x").is_empty());
    }
    let fits = format!("block {{ $x = {}1{}; }}", "(".repeat(50), ")".repeat(50));
    there_and_back(&fits);
    there_and_back(&format!("block {{ $x = 1{}; }}", " + 1".repeat(120)));
    let limits = [
        (64, (0..65).map(|i| format!("thread v{i}: u8;")).collect::<String>() + "block {}"),
        (256, format!("block {{ {} }}", (0..257).map(|i| format!("@t{i}++;")).collect::<String>())),
        (256, format!("block {{ {} }}", (0..257).map(|i| format!("$t{i} = 1;")).collect::<String>())),
        (256, format!("{} {{}}", vec!["block"; 257].join(", "))),
    ];
    for (most, text) in limits {
        let complaints = parse(&text).unwrap_err();
        assert!(complaints[0].message.contains(&format!("at most {most}")), "{complaints:?}");
    }
}

/// Random numbers, the same in every run.
struct Dice {
    state: u64,
    /// Whether there is a local variable.
    local: bool,
}

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % sides
    }
    fn pick<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.roll(all.len())]
    }

    fn integer(&mut self, depth: usize) -> String {
        if depth == 0 {
            let local = if self.local { "$l" } else { "2" };
            return self
                .pick(&["1", "clock", "size", "n", "tid.x", "address", "0x7f", "in0", "arg.a", local])
                .to_owned();
        }
        let (a, b) = (self.integer(depth - 1), self.integer(depth - 1));
        match self.roll(9) {
            0 => format!("({a})"),
            1 => format!("{}({a})", self.pick(&["-", "~", "- -", "-~"])),
            2 => format!("({} ? {a} : {b})", self.predicate(depth - 1)),
            3 => format!(
                "{}({a})",
                self.pick(&["u8", "s16", "u32", "s64", "abs", "popc", "clz", "lanes_sum", "lanes_or"])
            ),
            4 => format!("{}({a}, {b})", self.pick(&["min", "max"])),
            5 => format!("bits({})", self.float(depth - 1)),
            6 => format!("({a} {} {b})", self.pick(&["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"])),
            7 => format!("ballot({})", self.predicate(depth - 1)),
            _ => format!("{a} {} {b}", self.pick(&["+", "-", "*", "/", "%", "&", "^"])),
        }
    }
    fn float(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.pick(&["1.5", "x", "-2e9", "f32(1)", "out"]).to_owned();
        }
        let (a, b) = (self.float(depth - 1), self.float(depth - 1));
        format!("({a} {} {b})", self.pick(&["+", "-", "*", "/"]))
    }
    fn predicate(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.pick(&["true", "p", "leader", "func == \"a*\"", "space != \"shared\""]).to_owned();
        }
        let (a, b) = (self.predicate(depth - 1), self.predicate(depth - 1));
        match self.roll(5) {
            0 => format!("!({a})"),
            1 => {
                format!(
                    "({}) {} ({})",
                    self.integer(depth - 1),
                    self.pick(&["==", "<", ">="]),
                    self.integer(depth - 1)
                )
            }
            2 => format!("finite({})", self.float(depth - 1)),
            3 => format!("({a} ? {b} : {a})"),
            _ => format!("({a}) {} ({b})", self.pick(&["&&", "||", "==", "^"])),
        }
    }
    fn body(&mut self, depth: usize) -> String {
        let mut out = String::new();
        for _ in 0..self.roll(4) {
            let d = self.roll(4);
            out += &match self.roll(if depth == 0 { 9 } else { 11 }) {
                0 => format!("n = u64({});", self.integer(d)),
                1 => format!("p = {};", self.predicate(d)),
                2 => format!("@a[{}, func] = sum({});", self.integer(d), self.integer(d)),
                3 => format!("save @r({}, {});", self.predicate(d), self.float(d)),
                4 => format!("$l = s32({});", self.integer(d)),
                5 => format!(
                    "w {} u64({});",
                    self.pick(&["=", "+=", "-=", "min=", "max=", "&=", "|=", "^="]),
                    self.integer(d)
                ),
                6 => format!("c {} s32({});", self.pick(&["=", "+=", "min=", "max="]), self.integer(d)),
                7 => {
                    format!("$l = c {} s32({}) + s32(w);", self.pick(&["-=", "max=", "|="]), self.integer(d))
                }
                8 => self.pick(&["w++;", "$o = w++;", "n min= 7;", "f = p;", "$l max= c;"]).to_owned(),
                9 => format!(
                    "if ({}) {{ {} }} else {{ {} }}",
                    self.predicate(d),
                    self.body(depth - 1),
                    self.body(depth - 1)
                ),
                _ => format!("for $i{depth} in 0..3 {{ @b[$i{depth}]++; {} }}", self.body(depth - 1)),
            };
        }
        out
    }
    fn program(&mut self) -> String {
        let mut out =
            "thread n: u64; thread p: bool = true; warp w: u64; cta c: s32; thread x: f32; cta f: bool; record @r(a: bool, b: f64) per warp keep 2;"
                .to_owned();
        for _ in 0..1 + self.roll(3) {
            let predicate = self.predicate(2);
            self.local = true;
            out += &format!("inst:ld:end /{predicate}/ {{ $l = 1; {} }}\n", self.body(2));
            self.local = false;
        }
        out
    }
}

#[test]
fn random_programs_are_read_back() {
    let mut dice = Dice { state: 1, local: false };
    for _ in 0..500 {
        there_and_back(&dice.program());
    }
}

#[test]
fn broken_programs_are_complained_about() {
    let mut seeds: Vec<String> =
        ["right.prlx", "wrong.prlx"].iter().flat_map(|n| programs(n)).map(|p| p.1).collect();
    let mut dice = Dice { state: 7, local: false };
    seeds.extend((0..20).map(|_| dice.program()));
    let words = [
        "{", "}", "(", ")", "[", "]", "/", "*", "//", "/*", "#", "\"", "$", "@", ":", "::", ",", ";", "..",
        ".", "-", "?", "if ", "else ", "for ", "save ", "thread ", "warp ", "cta ", "record ", "max=", "++",
        "inst:", "1", "1e", "0x", "é", "\n", "\t", "\u{0}", "out", "$x", "@t", "=",
    ];
    for round in 0..20_000 {
        let mut text = seeds[dice.roll(seeds.len())].clone();
        for _ in 0..1 + dice.roll(3) {
            let borders: Vec<usize> = text.char_indices().map(|(i, _)| i).chain([text.len()]).collect();
            let a = borders[dice.roll(borders.len())];
            let b = borders[dice.roll(borders.len())].min(text.len());
            match dice.roll(4) {
                0 => text.insert_str(a, words[dice.roll(words.len())]),
                1 => text.truncate(a),
                2 => drop(text.drain(
                    a..borders[(borders.partition_point(|x| *x <= a) + dice.roll(8)).min(borders.len() - 1)],
                )),
                _ => {
                    let part = text[a.min(b)..a.max(b)].to_owned();
                    text.insert_str(b, &part);
                }
            }
        }
        match parse(&text) {
            Ok(_) if round % 4 == 0 => drop(there_and_back(&text)),
            Ok(_) => {}
            Err(complaints) => {
                assert!(!complaints.is_empty());
                for c in complaints {
                    assert!(c.span.start <= c.span.end && c.span.end <= text.len(), "{c:?}\n{text}");
                    assert!(text.get(c.span.clone()).is_some(), "{c:?}\n{text}");
                    assert!(c.render(&text, "x").starts_with("x:"));
                }
            }
        }
    }
}
