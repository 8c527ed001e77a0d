//! The limit of locked memory.

use super::super::{Facts, Memory};
use crate::finding::{Finding, Severity};

/// The limit that a process needs: devices read and write memory of connections at any time, so it is locked.
pub(super) fn check(facts: &Facts, word: &str) -> Vec<Finding> {
    let Memory { locked_max, is_exempt, each, connections } = facts.memory;
    let Some(max) = locked_max.filter(|_| !is_exempt) else { return vec![] };
    let enough_for = max.checked_div(each).unwrap_or(u64::MAX);
    if enough_for >= connections.into() {
        return vec![];
    }
    let (severity, id) =
        if enough_for == 0 { (Severity::Error, "memlock-none") } else { (Severity::Warning, "memlock-few") };
    let (max, each) = (max >> 10, each >> 10);
    vec![Finding::new(
        severity,
        id,
        format!(
            "{max} KiB of memory may be locked (ulimit -l): enough for {enough_for} busy connections of {connections} that the \
             {word} lets in"
        ),
        format!(
            "memory that a device reads and writes is locked, up to {each} KiB for each connection; a connection that gets none is \
             closed"
        ),
        format!(
            "for a service `LimitMEMLOCK=infinity`; in a shell `ulimit -l unlimited` as root; or lower limits.connections of the \
             {word}'s configuration"
        ),
    )]
}

#[cfg(test)]
mod tests {
    use super::super::ids;
    use super::super::sound;

    #[test]
    fn the_limit_has_to_be_enough_for_all_connections() {
        for (locked_max, is_exempt, id) in [
            (None, false, None),
            (Some(256 * (5 << 20)), false, None),
            (Some(256 * (5 << 20) - 1), false, Some("memlock-few")),
            (Some((5 << 20) - 1), false, Some("memlock-none")),
            (Some(0), true, None),
        ] {
            let mut facts = sound::facts();
            (facts.memory.locked_max, facts.memory.is_exempt) = (locked_max, is_exempt);
            assert_eq!(ids(&facts), Vec::from_iter(id), "{locked_max:?}");
        }
    }
}
