//! Tables in Markdown.

use std::fmt::Write as _;

use super::ratio::{MEMORY, Pair, SAMBA, reaches};
use super::report::{Cell, Report, Way};
use crate::compare::median;

/// What an operation of a cell is, such as `read 64 KiB, 8 at once`.
pub(super) fn name(cell: &Cell) -> String {
    let size = match cell.size {
        size if size >= 1 << 20 => format!("{} MiB", size >> 20),
        size => format!("{} KiB", size >> 10),
    };
    let at_once = if cell.at_once == 1 { String::new() } else { format!(", {} at once", cell.at_once) };
    format!("{} {size}{at_once}", cell.verb)
}

/// The last round of a cell, as a line of text.
pub(super) fn last(cell: &Cell) -> String {
    let mut text = name(cell);
    for (number, (way, rates)) in cell.rates.iter().enumerate() {
        let rate = rates.last().copied().flatten().map_or("-".into(), short);
        let separator = if number == 0 { ": " } else { ", " };
        // Writing to a String cannot fail.
        let _ = write!(text, "{separator}{way} {rate}");
    }
    text
}

/// All tables of a report.
pub(super) fn of(report: &Report) -> String {
    let mut text = String::from(
        "| MiB/s | gateway, Samba | Samba | RDMA alone | ratio (rounds) | goal | in turn |\n|---|---|---|---|---|---|---|\n",
    );
    for cell in &report.cells {
        let _ = writeln!(text, "{}", row(cell, [Way::GatewaySamba, Way::Samba], SAMBA));
    }
    text += "\n| MiB/s | gateway, memory | memory | RDMA alone | ratio (rounds) | goal | in turn |\n|---|---|---|---|---|---|---|\n";
    for cell in &report.cells {
        let _ = writeln!(text, "{}", row(cell, [Way::GatewayMemory, Way::Memory], MEMORY));
    }
    text += "\n| processor time of the gateway | Samba: own, ms for each MiB | the kernel's for it | of one processor | memory: own | the kernel's | of one processor |\n|---|---|---|---|---|---|---|\n";
    for cell in &report.cells {
        let [one, other] = [Way::GatewaySamba, Way::GatewayMemory].map(|way| processor(cell, way));
        let _ = writeln!(text, "| {} | {one} | {other} |", name(cell));
    }
    text
}

/// The beginning of a row.
fn row(cell: &Cell, ways: [Way; 2], pair: Pair) -> String {
    let [gateway, server] = ways.map(|way| rate(cell, way));
    let ratios = pair.ratios(cell);
    let rounds = rounds(&ratios);
    let goal = pair.goal(cell).map_or("-".into(), |at_least| goal(ratios.clone(), at_least));
    format!(
        "| {} | {gateway} | {server} | {} | {} ({}) | {goal} | {} |",
        name(cell),
        rate(cell, Way::Rdma),
        ratio(ratios),
        rounds,
        ratio(pair.ratios_in_turn(cell))
    )
}

/// A goal, and whether the median of the rounds misses it.
pub(super) fn goal(rounds: Vec<f64>, goal: f64) -> String {
    let missed = if reaches(rounds, goal) { "" } else { " (missed)" };
    format!("≥ {goal:?}{missed}")
}

/// All of them.
pub(super) fn rounds(ratios: &[f64]) -> String {
    ratios.iter().map(|ratio| format!("{ratio:.2}")).collect::<Vec<_>>().join(" ")
}

/// The median of ratios.
pub(super) fn ratio(rounds: Vec<f64>) -> String {
    median(rounds).map_or("-".into(), |ratio| format!("{ratio:.2}"))
}

/// The median of a way's rounds.
pub(super) fn rate(cell: &Cell, way: Way) -> String {
    let rates = cell.rates.get(&way).map(Vec::as_slice).unwrap_or_default();
    median(rates.iter().copied().flatten().collect()).map_or("-".into(), short)
}

/// Means: the system counts in ticks, of which one measurement has few.
fn processor(cell: &Cell, way: Way) -> String {
    let times = cell.processor.get(&way).map(Vec::as_slice).unwrap_or_default();
    let rates = cell.rates.get(&way).map(Vec::as_slice).unwrap_or_default();
    let rounds: Vec<_> =
        times.iter().zip(rates).filter_map(|(time, rate)| Some(((*time)?, (*rate)?))).collect();
    if rounds.is_empty() {
        return "- | - | -".into();
    }
    let mean = |of: fn(((f64, f64), f64)) -> f64| {
        short(rounds.iter().copied().map(of).sum::<f64>() / rounds.len() as f64)
    };
    let (user, system) = (mean(|((user, _), _)| user), mean(|((_, system), _)| system));
    // Milliseconds for each MiB, and MiB for each second.
    let busy = mean(|((user, system), rate)| (user + system) * rate / 1000.0);
    format!("{user} | {system} | {busy}")
}

/// Three digits at most.
fn short(value: f64) -> String {
    match value {
        value if value >= 99.95 => format!("{value:.0}"),
        value if value >= 9.995 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{last, of};
    use crate::numbers::report::{Cell, Report, Verb, Way};

    fn report() -> Report {
        let ways = [Way::GatewaySamba, Way::Samba, Way::GatewayMemory, Way::Memory, Way::Rdma];
        let cell = |verb, size, at_once| Cell {
            verb,
            size,
            at_once,
            rates: ways
                .iter()
                .enumerate()
                .map(|(number, way)| (*way, vec![Some(10.0 * (number + 1) as f64), None, Some(25.0)]))
                .collect(),
            processor: BTreeMap::from([(Way::GatewaySamba, vec![Some((2.0, 3.5)), None, Some((2.5, 4.0))])]),
        };
        let cells =
            vec![cell(Verb::Read, 4096, 1), cell(Verb::Read, 1 << 20, 8), cell(Verb::Write, 65_536, 1)];
        Report { kind: "siw".into(), seconds: 1.0, cells }
    }

    #[test]
    fn tables_have_medians_of_the_rounds_and_say_what_was_missed() {
        insta::assert_snapshot!(of(&report()));
    }

    #[test]
    fn a_line_of_progress_has_each_way_of_the_last_round() {
        assert_eq!(
            last(&report().cells[1]),
            "read 1 MiB, 8 at once: gateway-samba 25.0, samba 25.0, gateway-memory 25.0, memory 25.0, rdma 25.0"
        );
    }
}
