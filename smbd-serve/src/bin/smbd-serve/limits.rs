//! What all clients together may use.

use std::sync::Arc;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use smbd_daemon::admission::Admission;
use smbd_smb2::server::Params;

/// Data that a credit stands for, in bytes.
const OF_CREDIT: u64 = 64 << 10;
/// What a client may hold besides: a message that comes, and one that leaves.
const BESIDES: u64 = 16 << 20;
/// The fewest credits, those of the longest READ, and the most, as Samba and Windows grant.
const CREDITS: (u64, u64) = (128, 8192);
/// File descriptors of the program itself.
const OWN: u64 = 64;
/// The most of an open file: its own, and that of the directory in which its name is. A client has some as well.
const OF_OPEN: u64 = 2;
const OF_CLIENT: u64 = 16;

/// Divides memory (MiB) and file descriptors among clients.
pub(crate) fn divide(params: &mut Params, clients: u16, memory: u32, descriptors: u64) -> Result<(), String> {
    let clients = u64::from(clients).max(1);
    let each = (u64::from(memory) << 20) / clients;
    let credits = each.saturating_sub(BESIDES) / OF_CREDIT;
    if credits < CREDITS.0 {
        let least = (clients * (BESIDES + CREDITS.0 * OF_CREDIT)) >> 20;
        return Err(format!("--memory: {clients} clients need {least} MiB at least; or lower --connections"));
    }
    params.credits_max = u16::try_from(credits.min(CREDITS.1)).unwrap_or(u16::MAX);
    let each = descriptors.saturating_sub(OWN) / clients;
    let opens = each.saturating_sub(OF_CLIENT) / OF_OPEN;
    if opens == 0 {
        return Err(format!(
            "--connections: {clients} clients need more than the {descriptors} file descriptors of the process (ulimit -n)"
        ));
    }
    params.opens_max = params.opens_max.min(usize::try_from(opens).unwrap_or(usize::MAX));
    Ok(())
}

/// The fewest places of an address that are the default: those of one session with its channels.
const PER_CLIENT: u16 = 8;

/// Who is let in: connections, or children, at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Places {
    pub(crate) all: u16,
    /// Of those, places of one address.
    per_client: u16,
    /// Of those, places of connections without a login.
    logging_in: u16,
}

impl Places {
    /// Of so many places one address has half by default, 8 at least, but not the last one; and half of those for connections without a login.
    /// So places are left for others. With processes for clients (`is_parent`), the parent does not know who has logged in: a client without a
    /// login leaves by itself (`--login`).
    pub(crate) fn new(all: u16, per_client: Option<u16>, logging_in: Option<u16>, is_parent: bool) -> Self {
        let most = all.saturating_sub(1).max(1);
        let per_client = per_client.unwrap_or_else(|| (all / 2).max(PER_CLIENT).min(most)).min(all);
        let logging_in = logging_in.unwrap_or_else(|| (per_client / 2).max(1)).min(per_client);
        Self { all, per_client, logging_in: if is_parent { per_client } else { logging_in } }
    }

    /// All of them for one client: those of a process that serves no other.
    pub(crate) const fn of_one(all: u16) -> Self {
        Self { all, per_client: all, logging_in: all }
    }

    /// Connections of one address.
    pub(crate) fn per_client(self) -> u32 {
        self.per_client.into()
    }

    pub(crate) fn admission(self) -> Arc<Admission> {
        Admission::with_logins(self.all.into(), self.per_client.into(), self.logging_in.into())
    }

    /// Has admission let in as many from now on.
    pub(crate) fn limit(self, admission: &Admission) {
        admission.set_limits(self.all.into(), self.per_client.into());
        admission.set_logging_in(self.logging_in.into());
    }
}

/// What each of several processes may have of all connections, and of the memory (MiB).
pub(crate) fn share(connections: u16, memory: u32, processes: u16) -> Result<(u16, u32), String> {
    let processes = processes.max(1);
    match connections / processes {
        0 => Err(format!("--connections: {processes} children need one each; or lower --children")),
        each => Ok((each, memory / u32::from(processes))),
    }
}

/// Raises the number of file descriptors as far as the system allows it, and returns it.
pub(crate) fn descriptors() -> u64 {
    /// More than anybody needs.
    const ENOUGH: u64 = 1 << 20;
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.unwrap_or(ENOUGH).min(ENOUGH);
    let raised = Rlimit { current: Some(wanted), maximum: limit.maximum };
    let is_raised =
        limit.current.is_some_and(|current| current < wanted) && setrlimit(Resource::Nofile, raised).is_ok();
    if is_raised { wanted } else { limit.current.unwrap_or(ENOUGH) }
}

#[cfg(test)]
mod tests {
    use smbd_smb2::wire::Guid;

    use super::*;

    fn divided(clients: u16, memory: u32, descriptors: u64) -> Result<(u16, usize), String> {
        let mut params = Params::new(Guid::default(), "SERVER");
        divide(&mut params, clients, memory, descriptors)?;
        Ok((params.credits_max, params.opens_max))
    }

    #[test]
    fn processes_share_what_there_is_and_each_has_a_connection() {
        assert_eq!(share(64, 4096, 16), Ok((4, 256)));
        assert_eq!(share(64, 4096, 1), Ok((64, 4096)));
        assert_eq!(share(7, 100, 3), Ok((2, 33)));
        assert!(share(15, 4096, 16).is_err());
    }

    #[test]
    fn one_address_leaves_places_to_others_with_children_as_well() {
        for (places, is_parent, most) in [
            (64, false, 16),
            (64, true, 32),
            (16, true, 8),
            (8, true, 7),
            (8, false, 3),
            (2, true, 1),
            (2, false, 1),
        ] {
            let admission = Places::new(places, None, None, is_parent).admission();
            let enter = |client: &str| admission.enter_of_any(client.parse().unwrap());
            let silent: Vec<_> = (0..70).filter_map(|_| enter("10.9.0.2").ok()).collect();
            assert_eq!(silent.len(), most);
            assert!(enter("10.9.0.3").is_ok(), "{places}");
        }
    }

    #[test]
    fn one_address_has_the_places_that_were_written_if_there_are_as_many() {
        for (places, per_client, most) in [(8, 8, 8), (8, 4000, 8), (1, 1, 1), (64, 3, 3)] {
            let admission = Places::new(places, Some(per_client), Some(per_client), false).admission();
            let enter = || admission.enter_of_any("10.9.0.2".parse().unwrap());
            assert_eq!((0..70).filter_map(|_| enter().ok()).collect::<Vec<_>>().len(), most);
        }
    }

    #[test]
    fn other_limits_hold_for_who_comes_from_then_on() {
        let admission = Places::new(8, None, None, false).admission();
        let enter = || admission.enter_of_any("10.9.0.2".parse().unwrap());
        let before: Vec<_> = (0..70).filter_map(|_| enter().ok()).collect();
        assert_eq!(before.len(), 3);
        Places::new(8, Some(6), Some(5), false).limit(&admission);
        let after: Vec<_> = (0..70).filter_map(|_| enter().ok()).collect();
        assert_eq!(after.len(), 2);
        after.iter().for_each(smbd_daemon::admission::Pass::logged_in);
        before.iter().for_each(smbd_daemon::admission::Pass::logged_in);
        assert!(enter().is_ok());
    }

    #[test]
    fn clients_share_what_there_is() {
        assert_eq!(divided(64, 4096, 1 << 20), Ok((768, 4096)));
        assert_eq!(divided(64, 64 * 24, 1 << 20), Ok((128, 4096)));
        assert_eq!(divided(64, 64 * 528, 1 << 20), Ok((8192, 4096)));
        assert_eq!(divided(4, 4096, 1024), Ok((8192, 112)));
        let said = divided(64, 64 * 24 - 1, 1 << 20).unwrap_err();
        assert_eq!(said, "--memory: 64 clients need 1536 MiB at least; or lower --connections");
        assert!(divided(64, 4096, 1024).is_err());
    }
}
