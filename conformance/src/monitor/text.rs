//! A verdict as text.

use std::fmt::{self, Display, Formatter};

use smbd_sim::decode::{Counters, Direction, Endpoint};

use super::verdict::{Connection, Finding, Ledger, Verdict};

/// The whole verdict: findings, ledgers and what was not judged of each connection, then the totals.
#[must_use]
pub fn verdict(verdict: &Verdict) -> impl Display {
    Whole(verdict)
}

/// One finding, in one line.
#[must_use]
pub fn finding(finding: &Finding) -> impl Display {
    Line(finding)
}

struct Whole<'a>(&'a Verdict);

impl Display for Whole<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for connection in &self.0.connections {
            self::connection(f, connection)?;
        }
        let Counters { frames, foreign_frames, cut_frames, .. } = self.0.counters;
        writeln!(
            f,
            "frames: {frames}, {foreign_frames} of other protocols, {cut_frames} cut by the capture, {} not understood",
            self.0.not_understood()
        )?;
        writeln!(
            f,
            "total: {} SMB Direct connections, {} messages, {} violations, {} deviations, {} not judged",
            self.0.connections.len(),
            self.0.messages(),
            self.0.violations(),
            self.0.deviations(),
            self.0.not_judged()
        )
    }
}

fn end(f: &mut Formatter<'_>, end: &Endpoint) -> fmt::Result {
    write!(f, "{}", end.address)?;
    end.port.map_or(Ok(()), |port| write!(f, " port {port}"))
}

fn connection(f: &mut Formatter<'_>, connection: &Connection) -> fmt::Result {
    let decoded = &connection.connection;
    write!(f, "connection {} {}: ", decoded.number, decoded.transport.name())?;
    end(f, &decoded.initiator)?;
    f.write_str(" > ")?;
    end(f, &decoded.acceptor)?;
    let start = if decoded.from_start { "" } else { ", began before the capture" };
    writeln!(f, ", {} messages{start}", connection.messages)?;
    for finding in &connection.findings {
        writeln!(f, "  {}", Line(finding))?;
    }
    let sides = [("initiator", &decoded.initiator), ("acceptor", &decoded.acceptor)];
    for ((name, end), ledger) in sides.into_iter().zip(&connection.ledgers) {
        writeln!(f, "  {name} {}: {}", end.address, Credits(ledger))?;
    }
    if !connection.not_judged.is_empty() {
        let rules = connection.not_judged.iter().map(|(rule, times)| format!("{rule} {times}"));
        writeln!(f, "  not judged: {}", rules.collect::<Vec<_>>().join(", "))?;
    }
    Ok(())
}

struct Line<'a>(&'a Finding);

impl Display for Line<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Finding { rule, frame, direction, seen, expected, .. } = self.0;
        let arrow = match direction {
            Direction::ToAcceptor => "I>A",
            Direction::ToInitiator => "A>I",
        };
        let kind = if rule.class.is_violation() { "VIOLATION" } else { "deviation" };
        let sources = rule.class.sources().join(", ");
        write!(f, "frame {frame} {arrow} {kind} {} ({}; {}: ", rule.name, rule.section, rule.class.name())?;
        write!(f, "{sources}): {seen}; expected: {expected}")
    }
}

struct Credits<'a>(&'a Ledger);

impl Display for Credits<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Ledger { granted_negotiating, granted_later, spent, lowest } = self.0;
        write!(f, "{} credits granted ({granted_negotiating} negotiating, ", self.0.granted())?;
        write!(f, "{granted_later} later), {spent} spent, ")?;
        match lowest {
            Some(lowest) => write!(f, "never fewer than {lowest} held"),
            None => f.write_str("none held, or not known how many"),
        }
    }
}
