//! Whether a program is about time, or about the order in which warps run.

use super::ast::Script;
use super::token::{Lexer, Token};
use prlx_plan::VariableScope;

impl Script {
    /// Whether it reads a clock, or a variable of CTAs, so that what it says depends on the order in which
    /// warps run.
    pub fn is_about_order(&self) -> bool {
        let mut lexer = Lexer::new(&self.text);
        let mut reads = false;
        loop {
            match lexer.next().0 {
                Token::End => break,
                Token::Name("clock" | "clock32" | "time") => reads = true,
                _ => {}
            }
        }
        reads || self.vars.iter().any(|v| v.of == VariableScope::Cta)
    }
}
