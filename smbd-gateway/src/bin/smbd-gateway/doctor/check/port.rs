//! The ports that the gateway listens at.

use super::super::facts::{Facts, Listening, PortState};
use super::super::finding::{Finding, Severity};

pub(super) fn check(facts: &Facts) -> Vec<Finding> {
    facts.listeners.iter().filter_map(judge).collect()
}

fn judge(Listening { at, state }: &Listening) -> Option<Finding> {
    let finding = |id, why: String, cure: &str| {
        Finding::new(Severity::Error, id, format!("the gateway cannot listen at {at}"), why, cure)
    };
    Some(match state {
        PortState::Usable => return None,
        PortState::InUse => finding(
            "port-in-use",
            format!(
                "port {} is in use: by ksmbd, another gateway, or on iWARP, which shares the ports of TCP, any server",
                at.port()
            ),
            "`rdma resource show cm_id` and `ss -ltnp` show who has it; `--listen` names another address, but clients look for \
             445 and 5445 only",
        ),
        PortState::Forbidden => finding(
            "port-forbidden",
            format!(
                "ports below 1024 need the capability CAP_NET_BIND_SERVICE, and this user has it not for port {}",
                at.port()
            ),
            "run the gateway as root or as the service that comes with it; run `smbd-gateway doctor` as the same user",
        ),
        PortState::Failed(why) => finding(
            "port-failed",
            why.clone(),
            "`rdma link` and `ip address` show which addresses belong to RDMA devices",
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::facts::sound;
    use super::super::ids;
    use super::*;

    #[test]
    fn a_port_at_which_it_cannot_be_listened_is_told_with_its_reason() {
        for (state, id) in [
            (PortState::InUse, "port-in-use"),
            (PortState::Forbidden, "port-forbidden"),
            (PortState::Failed("the address belongs to no RDMA device".into()), "port-failed"),
        ] {
            let mut facts = sound::facts();
            assert_eq!(check(&facts), []);
            facts.listeners[0].state = state;
            assert_eq!(ids(&facts), [id]);
            assert!(check(&facts)[0].what.contains("10.9.0.1:445"));
        }
    }
}
