//! The resources of this host that connections may take, printed before the first one.

use std::fmt;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use smbd_core::Config;
use smbd_tools::exercise::Limits;
use smbd_verbs::footprint;

/// File descriptors of a connection.
const DESCRIPTORS: u64 = 5;
/// Those that are needed besides.
const DESCRIPTORS_BESIDE: u64 = 64;

/// What connections may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    connections: u32,
    /// Bytes of one, whatever its client does.
    each: u64,
    /// Bytes that a client can make it take besides: a message that is put together, answers it does not receive, buffers.
    more: u64,
}

impl Room {
    pub(crate) fn of(connections: u32, config: &Config, limits: &Limits) -> Self {
        let message = u64::from(config.max_fragmented_recv_size);
        let more = message.saturating_add(limits.backlog).saturating_add(limits.buffers);
        Self { connections, each: footprint(config), more }
    }
}

impl fmt::Display for Room {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { connections, each, more } = *self;
        let all = each.saturating_mul(connections.into());
        write!(
            f,
            "up to {connections} connections take {all} bytes ({} MiB), {each} each; what a client asks for comes on top, \
             up to {} MiB for each",
            all.div_ceil(1 << 20),
            more.div_ceil(1 << 20)
        )
    }
}

/// Has the system allow as many file descriptors as that many connections need. Why it does not, if so.
pub(crate) fn allow_descriptors(connections: u32) -> Option<String> {
    let needed = u64::from(connections).saturating_mul(DESCRIPTORS).saturating_add(DESCRIPTORS_BESIDE);
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_none_or(|current| current >= needed) {
        return None;
    }
    let most = maximum.unwrap_or(needed).min(needed);
    let set = setrlimit(Resource::Nofile, Rlimit { current: Some(most), maximum });
    let allowed = if set.is_ok() { most } else { current.unwrap_or(needed) };
    (allowed < needed).then(|| {
        let enough_for = allowed.saturating_sub(DESCRIPTORS_BESIDE) / DESCRIPTORS;
        format!(
            "only {allowed} file descriptors are allowed (ulimit -n), enough for some {enough_for} of {connections} \
             connections; more are refused"
        )
    })
}
