//! Signing, which is what most often keeps clients from RDMA.

use super::super::facts::Facts;
use super::super::smb_conf::{Level, is_domain_controller, level};
use smbd_daemon::finding::{Finding, Severity};

const WHY: &str = "signing is what keeps clients from RDMA here: they use it only in sessions that are neither signed nor encrypted. \
                   They work through the gateway all the same, but all data pass in messages, which are slower";

pub(super) fn check(facts: &Facts) -> Vec<Finding> {
    let Some((_, conf)) = &facts.samba else { return vec![] };
    let signing = conf.global.get("server signing");
    let role = conf.global.get("server role");
    let wanted = signing.and_then(|setting| level(&setting.text)).unwrap_or(Level::Default);
    let is_controller = role.is_some_and(|role| is_domain_controller(&role.text) == Some(true));
    let found = match (wanted, signing) {
        (Level::Required, Some(setting)) => {
            let finding = Finding::new(
                Severity::Error,
                "signing",
                format!("{setting} requires clients to sign"),
                WHY,
                "`server signing = auto` leaves it to the clients; those of Windows 11 24H2 and Server 2025 require it by themselves. \
                 What that risks: without a signature, whoever can change packets between client and server can change files and \
                 take over sessions, and nobody sees it. Only in a network whose hosts are trusted, such as one of its own for \
                 storage",
            );
            finding.at(&setting.place)
        }
        (Level::Default, _) if is_controller => {
            let finding = Finding::new(
                Severity::Error,
                "signing-domain-controller",
                "a domain controller of Active Directory requires clients to sign, unless `server signing` says otherwise",
                WHY,
                "serve files from a member of the domain, which does not require it. `server signing = auto` on a domain controller \
                 risks more than files: whoever can change packets between it and its members can change the policies and logon \
                 scripts that these run",
            );
            finding.maybe_at(role.map(|role| &role.place))
        }
        _ => return vec![],
    };
    vec![found]
}

#[cfg(test)]
mod tests {
    use super::super::super::facts::sound;
    use super::super::ids;
    use super::*;

    #[test]
    fn required_signing_is_told_with_its_line_and_its_risk() {
        for value in ["mandatory", "required", "Forced"] {
            let facts = sound::with_global(&format!("server signing = {value}"));
            assert_eq!(ids(&facts), ["signing"], "{value}");
        }
        let found = check(&sound::with_global("server signing = mandatory"));
        assert!(found[0].why.contains("signing is what keeps clients from RDMA"));
        assert!(found[0].cure.contains("What that risks"));
        assert!(smbd_daemon::finding::text(&found).starts_with("error: /etc/samba/smb.conf:3: "));
    }

    #[test]
    fn a_domain_controller_requires_it_by_itself() {
        for (lines, id) in [
            ("server role = active directory domain controller", Some("signing-domain-controller")),
            ("server role = DC\nserver signing = default", Some("signing-domain-controller")),
            ("server role = domain controller\nserver signing = auto", None),
            ("server role = member server", None),
            ("server role = classic primary domain controller", None),
        ] {
            assert_eq!(ids(&sound::with_global(lines)), Vec::from_iter(id), "{lines}");
        }
    }

    #[test]
    fn signing_that_is_not_required_is_no_finding() {
        for value in ["auto", "if_required", "disabled", "no", "desired", "default", "yes"] {
            assert_eq!(check(&sound::with_global(&format!("server signing = {value}"))), [], "{value}");
        }
    }
}
