//! Limits of the system: file descriptors, and memory that devices know.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::log::Log;

/// Those that are needed besides.
const DESCRIPTORS_BESIDE: u64 = 64;
/// The bit of CAP_IPC_LOCK, with which memory is locked without a limit.
const IPC_LOCK: u32 = 14;

/// What as many connections need as may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// Connections at the same time.
    pub connections: u32,
    /// File descriptors of each.
    pub descriptors: u64,
    /// Bytes of each that devices know.
    pub locked: u64,
    /// Bytes that devices know besides.
    pub locked_beside: u64,
}

/// Has the system allow it, and says so if it does not.
pub fn raise(needs: Needs, log: Log) {
    let connections = u64::from(needs.connections);
    let descriptors = Need { each: needs.descriptors, beside: DESCRIPTORS_BESIDE, connections };
    if let Some((allowed, needed)) = descriptors.raise(Resource::Nofile) {
        let line = log.warning("few file descriptors (ulimit -n)").number("allowed", allowed);
        line.number("needed", needed)
            .number("enough_for_connections", descriptors.enough_for(allowed))
            .write();
    }
    let memory = Need { each: needs.locked, beside: needs.locked_beside, connections };
    if !may_lock(&std::fs::read_to_string("/proc/self/status").unwrap_or_default())
        && let Some((allowed, needed)) = memory.raise(Resource::Memlock)
    {
        let line = log.warning("little memory for devices (ulimit -l, LimitMEMLOCK=)");
        let line = line.number("allowed", allowed).number("needed", needed);
        line.number("enough_for_connections", memory.enough_for(allowed)).write();
    }
}

/// What all connections together need of something.
struct Need {
    each: u64,
    beside: u64,
    connections: u64,
}

impl Need {
    fn needed(&self) -> u64 {
        self.connections.saturating_mul(self.each).saturating_add(self.beside)
    }

    /// For how many of them that is enough.
    fn enough_for(&self, allowed: u64) -> u64 {
        allowed.saturating_sub(self.beside).checked_div(self.each).unwrap_or(self.connections)
    }

    /// Raises the limit as far as it has to be and may be. What is allowed, and what is needed, if that is more.
    fn raise(&self, resource: Resource) -> Option<(u64, u64)> {
        let needed = self.needed();
        let Rlimit { current, maximum } = getrlimit(resource);
        let current = current.filter(|current| *current < needed)?;
        let most = maximum.unwrap_or(needed).min(needed);
        let set = setrlimit(resource, Rlimit { current: Some(most), maximum });
        let allowed = if set.is_ok() { most } else { current };
        (allowed < needed).then_some((allowed, needed))
    }
}

/// Whether a process with this `/proc/self/status` may lock memory without a limit.
fn may_lock(status: &str) -> bool {
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let bits = effective.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok());
    bits.is_some_and(|bits| bits >> IPC_LOCK & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_allowed_is_enough_for_so_many_connections() {
        let need = Need { each: 6, beside: 64, connections: 256 };
        assert_eq!((need.needed(), need.enough_for(1024), need.enough_for(10)), (1600, 160, 0));
    }

    #[test]
    fn a_limit_that_is_enough_is_not_touched() {
        let before = getrlimit(Resource::Core);
        let need = |each| Need { each, beside: 0, connections: 1 };
        assert_eq!(need(0).raise(Resource::Core), None);
        assert_eq!(getrlimit(Resource::Core), before);
    }

    #[test]
    fn the_capability_is_read_from_the_effective_ones() {
        let status =
            |bits: &str| format!("Name:\tx\nCapPrm:\t000001ffffffffff\nCapEff:\t{bits}\nSeccomp:\t0\n");
        assert!(may_lock(&status("000001ffffffffff")) && may_lock(&status("0000000000004000")));
        assert!(!may_lock(&status("0000000000000400")) && !may_lock(&status("none")) && !may_lock(""));
    }
}
