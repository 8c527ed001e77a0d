//! A verdict as JSON lines. Field names are stable: new ones may join, none changes its meaning.
//!
//! Each line is an object with `type`: `finding`, `ledger` (two for each connection), then `summary`, and `problem` for each
//! reason why the verdict is incomplete: the file could not be read to its end, or there was nothing to judge.

use std::io::{self, Write};

use serde_json::{Value, json};
use smbd_sim::decode::Counters;

use super::rules::Class;
use super::verdict::{Connection, Finding, Verdict};

/// Writes all lines.
///
/// # Errors
/// Those of `out`.
pub fn write(verdict: &Verdict, out: &mut impl Write) -> io::Result<()> {
    for connection in &verdict.connections {
        for finding in &connection.findings {
            writeln!(out, "{}", self::finding(finding))?;
        }
        for ledger in ledgers(connection) {
            writeln!(out, "{ledger}")?;
        }
    }
    writeln!(out, "{}", summary(verdict))?;
    for text in verdict.problem.iter().cloned().chain(verdict.nothing_to_judge()) {
        writeln!(out, "{}", json!({ "type": "problem", "text": text }))?;
    }
    Ok(())
}

/// The object of one finding.
#[must_use]
pub fn finding(finding: &Finding) -> Value {
    let rule = finding.rule;
    json!({
        "type": "finding",
        "violation": rule.class.is_violation(),
        "class": rule.class.name(),
        "rule": rule.name,
        "section": rule.section,
        "sources": rule.class.sources(),
        "sentence": rule.sentence,
        "argument": match rule.class {
            Class::Derived { argument, .. } => Some(argument),
            _ => None,
        },
        "connection": finding.connection,
        "frame": finding.frame,
        "direction": finding.direction.name(),
        "seen": finding.seen,
        "expected": finding.expected,
    })
}

fn ledgers(connection: &Connection) -> [Value; 2] {
    let decoded = &connection.connection;
    let [initiator, acceptor] = connection.ledgers;
    [("initiator", &decoded.initiator, initiator), ("acceptor", &decoded.acceptor, acceptor)].map(
        |(side, end, ledger)| {
            json!({
                "type": "ledger",
                "connection": decoded.number,
                "side": side,
                "address": end.address.to_string(),
                "granted": ledger.granted(),
                "granted_negotiating": ledger.granted_negotiating,
                "granted_later": ledger.granted_later,
                "spent": ledger.spent,
                "lowest": ledger.lowest,
            })
        },
    )
}

fn summary(verdict: &Verdict) -> Value {
    let mut not_judged = serde_json::Map::new();
    for (rule, times) in verdict.connections.iter().flat_map(|connection| &connection.not_judged) {
        let before = not_judged.get(*rule).and_then(Value::as_u64).unwrap_or(0);
        not_judged.insert((*rule).into(), (before + times).into());
    }
    let Counters { frames, foreign_frames, cut_frames, .. } = verdict.counters;
    json!({
        "type": "summary",
        "frames": frames,
        "foreign_frames": foreign_frames,
        "cut_frames": cut_frames,
        "not_understood": verdict.not_understood(),
        "connections": verdict.connections.len(),
        "messages": verdict.messages(),
        "violations": verdict.violations(),
        "deviations": verdict.deviations(),
        "not_judged": not_judged,
    })
}
