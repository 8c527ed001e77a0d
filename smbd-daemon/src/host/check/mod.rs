//! From facts to findings: a file for each subject.

mod device;
mod memory;
mod port;

use super::Facts;
use crate::finding::Finding;

/// All that keeps clients from this host, in the order in which somebody would look. `word` is what the program is in a sentence, such as
/// `gateway`.
#[must_use]
pub fn check(facts: &Facts, word: &str) -> Vec<Finding> {
    let mut found = device::check(facts, word);
    found.extend(port::check(facts, word));
    found.extend(memory::check(facts, word));
    found
}

/// What all checks find, by name. A test that seeds a fault says by it that the fault is found, and nothing else is.
#[cfg(test)]
fn ids(facts: &Facts) -> Vec<&'static str> {
    check(facts, "gateway").into_iter().map(|finding| finding.id).collect()
}

#[cfg(test)]
mod sound {
    use super::super::{Address, Device, Facts, Listening, Memory, PortState};

    /// A host on which nothing keeps clients from RDMA.
    pub(super) fn facts() -> Facts {
        let address = Address {
            address: "10.9.0.1".parse().unwrap(),
            interface: "eth0".into(),
            device: "mlx5_0".into(),
            speed_mbit: Some(100_000),
        };
        let states = vec!["ACTIVE".into(), "DOWN".into()];
        Facts {
            devices: vec![Device { name: "mlx5_0".into(), port_states: states }],
            addresses: Ok(vec![address]),
            listeners: vec![Listening { at: "10.9.0.1:445".parse().unwrap(), state: PortState::Usable }],
            memory: Memory { locked_max: None, is_exempt: false, each: 5 << 20, connections: 256 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_found_on_a_host_that_is_sound() {
        assert_eq!(check(&sound::facts(), "gateway"), []);
    }

    #[test]
    fn findings_speak_of_the_program_that_was_asked_for() {
        let mut facts = sound::facts();
        facts.listeners[0].state = super::super::PortState::InUse;
        assert_eq!(check(&facts, "broker")[0].what, "the broker cannot listen at 10.9.0.1:445");
    }
}
