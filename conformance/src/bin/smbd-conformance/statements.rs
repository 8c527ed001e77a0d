//! `smbd-conformance list --statements`: what MS-SMBD demands, its cases, and what shows that each can be broken.

use std::collections::BTreeSet;
use std::io::{self, Write};

use serde_json::{Value, json};
use smbd_conformance::catalogue::{Breakable, Breaks, Catalogue, Coverage, Exception, Statement};

/// Some statements.
#[derive(Debug)]
pub struct Statements<'a> {
    all: Vec<&'a Statement>,
    breaks: Breaks,
}

/// How many there are of what.
#[derive(Debug, Default)]
struct Numbers {
    covered: usize,
    broken: usize,
    rows: usize,
    /// By patches of the core, and by nothing else.
    patched: usize,
    patched_alone: usize,
    not_shown: usize,
}

impl<'a> Statements<'a> {
    /// Those that are wanted, in the order of the specification.
    pub fn of(catalogue: &'a Catalogue, wanted: impl Fn(&Statement) -> bool) -> Self {
        // A test reads the file that this program was built with.
        let breaks = Breaks::load().unwrap_or_default();
        Self { all: catalogue.statements.iter().filter(|statement| wanted(statement)).collect(), breaks }
    }

    /// Writes them as text, or as JSON.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, out: &mut dyn Write, as_json: bool) -> io::Result<()> {
        if as_json {
            return writeln!(out, "{:#}", self.object());
        }
        self.all.iter().try_for_each(|statement| self.lines(out, statement))?;
        let numbers = self.numbers();
        let Numbers { covered, broken, rows, patched, patched_alone, not_shown } = numbers;
        writeln!(
            out,
            "\n{} statements, {covered} of them covered by cases, the others excepted",
            self.all.len()
        )?;
        writeln!(
            out,
            "seen broken: {broken} by {rows} peers that are wrong in one thing; {patched} by patches of smbd-core, \
             {patched_alone} of them by nothing else; not shown: {not_shown}"
        )
    }

    fn lines(&self, out: &mut dyn Write, statement: &Statement) -> io::Result<()> {
        let Statement { id, level, role, text, coverage } = statement;
        let name = id.to_string();
        writeln!(out, "{name:<11} {level:<7} {role:<8} {text}")?;
        match coverage {
            Coverage::Exception(exception) => return writeln!(out, "    excepted: {exception}"),
            Coverage::Cases(cases) => writeln!(out, "    cases: {}", cases.join(" "))?,
        }
        match self.breaks.of(id) {
            Breakable::Rows(rows) => {
                let wrong: Vec<_> = rows.iter().map(|row| row.wrong.as_str()).collect();
                writeln!(out, "    broken by: {}", wrong.join("; "))?;
            }
            Breakable::Not(reason) => writeln!(out, "    not shown to be breakable: {reason}")?,
            Breakable::Mutant(_) | Breakable::Unknown => {}
        }
        let patches: Vec<_> = self.breaks.patches(id).collect();
        if patches.is_empty() {
            Ok(())
        } else {
            writeln!(out, "    broken by patches: {}", patches.join(" "))
        }
    }

    fn numbers(&self) -> Numbers {
        let mut numbers = Numbers::default();
        let mut rows = BTreeSet::new();
        for statement in self.all.iter().filter(|statement| statement.coverage.exception().is_none()) {
            numbers.covered += 1;
            numbers.patched += usize::from(self.breaks.patches(&statement.id).next().is_some());
            match self.breaks.of(&statement.id) {
                Breakable::Rows(some) => {
                    numbers.broken += 1;
                    rows.extend(some.iter().map(|row| row.wrong.as_str()));
                }
                Breakable::Mutant(_) => numbers.patched_alone += 1,
                Breakable::Not(_) | Breakable::Unknown => numbers.not_shown += 1,
            }
        }
        numbers.rows = rows.len();
        numbers
    }

    fn object(&self) -> Value {
        let Numbers { covered, broken, rows, patched, patched_alone, not_shown } = self.numbers();
        let statements: Value = self.all.iter().map(|statement| self.one(statement)).collect();
        json!({
            "statements": statements,
            "numbers": {
                "statements": self.all.len(),
                "covered": covered,
                "broken": broken,
                "peers": rows,
                "broken_by_patches": patched,
                "broken_by_patches_alone": patched_alone,
                "not_shown": not_shown,
            },
        })
    }

    fn one(&self, statement: &Statement) -> Value {
        let Statement { id, level, role, text, coverage } = statement;
        let (mut peers, mut reason) = (Vec::new(), None);
        match self.breaks.of(id) {
            Breakable::Rows(rows) => peers = rows.iter().map(|row| row.wrong.as_str()).collect(),
            Breakable::Not(why) => reason = Some(why),
            Breakable::Mutant(_) | Breakable::Unknown => {}
        }
        let patches: Vec<_> = self.breaks.patches(id).collect();
        json!({
            "id": id.to_string(),
            "section": id.section(),
            "level": level.to_string(),
            "role": role.to_string(),
            "text": text,
            "cases": coverage.cases(),
            "exception": coverage.exception().map(Exception::to_string),
            "broken_by": peers,
            "broken_by_patches": patches,
            "not_shown": reason,
        })
    }
}
