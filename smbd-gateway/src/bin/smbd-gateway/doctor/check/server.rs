//! The SMB servers behind the gateway.

use super::super::facts::Facts;
use smbd_daemon::finding::{Finding, Severity};

pub(super) fn check(facts: &Facts) -> Vec<Finding> {
    let silent =
        facts.servers.iter().filter_map(|server| Some((server.address, server.answer.as_ref().err()?)));
    silent
        .map(|(address, why)| {
            Finding::new(
                Severity::Error,
                "server-silent",
                format!("the SMB server {address} does not accept connections: {why}"),
                "the gateway passes on what clients send to it, and takes no client without it",
                "start it (`systemctl start smbd`), check `smb ports` and `ss -ltnp`, or name another one with --server or in \
                 the configuration file",
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::facts::sound;
    use super::super::ids;
    use super::*;

    #[test]
    fn a_server_that_does_not_answer_is_told() {
        let mut facts = sound::facts();
        assert_eq!(check(&facts), []);
        facts.servers[0].answer = Err("Connection refused".into());
        assert_eq!(ids(&facts), ["server-silent"]);
    }
}
