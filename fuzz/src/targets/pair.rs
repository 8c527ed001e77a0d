//! Two connections and their hosts, joined by devices and a network that do their worst.

use smbd_sim::swarm::{self, FaultLevel, Options, Plan, Profile};

/// The run that bytes choose.
pub(super) fn plan(data: &[u8]) -> Plan {
    let (level, bytes) = data.split_first().unwrap_or((&0, &[]));
    let faults = [FaultLevel::Heavy, FaultLevel::Light, FaultLevel::None][usize::from(level % 3)];
    let options = Options { profile: Profile::Random, personality: None, faults };
    Plan::from_bytes(bytes, &options)
}

/// Every law is kept in every run that bytes can choose, and when all has healed everything is delivered.
pub fn pair(data: &[u8]) {
    let report = swarm::run(&plan(data), None);
    if let Some(failure) = report.failure {
        panic!("{failure}");
    }
    assert!(report.delivered || report.hostile, "not everything was delivered");
}
