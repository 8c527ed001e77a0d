//! The ports that the program listens at.

use super::super::{Facts, Listening, PortState};
use crate::finding::{Finding, Severity};

pub(super) fn check(facts: &Facts, word: &str) -> Vec<Finding> {
    facts.listeners.iter().filter_map(|listening| judge(listening, word)).collect()
}

fn judge(Listening { at, state }: &Listening, word: &str) -> Option<Finding> {
    let finding = |id, why: String, cure: String| {
        Finding::new(Severity::Error, id, format!("the {word} cannot listen at {at}"), why, cure)
    };
    let port = at.port();
    Some(match state {
        PortState::Usable => return None,
        PortState::InUse => finding(
            "port-in-use",
            format!(
                "port {port} is in use: by ksmbd, another {word}, or on iWARP, which shares the ports of TCP, any server"
            ),
            "`rdma resource show cm_id` and `ss -ltnp` show who has it; `--listen` names another address, but clients look for \
             445 and 5445 only"
                .into(),
        ),
        PortState::Forbidden => finding(
            "port-forbidden",
            format!(
                "ports below 1024 need the capability CAP_NET_BIND_SERVICE, and this user has it not for port {port}"
            ),
            format!("run the {word} as root or as the service that comes with it; run `smbd-{word} doctor` as the same user"),
        ),
        PortState::Failed(why) => finding(
            "port-failed",
            why.clone(),
            "`rdma link` and `ip address` show which addresses belong to RDMA devices".into(),
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::super::ids;
    use super::super::sound;
    use super::*;

    #[test]
    fn a_port_at_which_it_cannot_be_listened_is_told_with_its_reason() {
        for (state, id) in [
            (PortState::InUse, "port-in-use"),
            (PortState::Forbidden, "port-forbidden"),
            (PortState::Failed("the address belongs to no RDMA device".into()), "port-failed"),
        ] {
            let mut facts = sound::facts();
            assert_eq!(check(&facts, "gateway"), []);
            facts.listeners[0].state = state;
            assert_eq!(ids(&facts), [id]);
            assert!(check(&facts, "gateway")[0].what.contains("10.9.0.1:445"));
        }
    }
}
