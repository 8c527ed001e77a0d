//! The SMB server of the kernel beside the gateway.

use super::super::facts::Facts;
use smbd_daemon::finding::{Finding, Severity};

pub(super) fn check(facts: &Facts) -> Vec<Finding> {
    if !facts.has_ksmbd {
        return vec![];
    }
    vec![Finding::new(
        Severity::Warning,
        "ksmbd",
        "ksmbd, the SMB server of the kernel, is running",
        "it listens for SMB Direct itself, at the ports that the gateway needs, so clients may reach its shares, with its users, and \
         not those of the server behind the gateway",
        "if Samba is to be served: `ksmbd.control --shutdown` and `systemctl disable --now ksmbd`",
    )]
}

#[cfg(test)]
mod tests {
    use super::super::super::facts::sound;
    use super::super::ids;
    use super::*;

    #[test]
    fn ksmbd_is_told_if_it_runs() {
        assert_eq!(check(&sound::facts()), []);
        assert_eq!(ids(&Facts { has_ksmbd: true, ..sound::facts() }), ["ksmbd"]);
    }
}
