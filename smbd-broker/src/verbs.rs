//! A broker's driver over RDMA devices of this host.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use smbd_core::Instant;
use smbd_verbs::{Buffer, Clock};

use crate::broker::Log;
use crate::server::{Boxed, Pair, System};
use crate::socket::{self, UnixPackets};

/// From 1601 to 1970, in 100 ns.
const EPOCH: u64 = 116_444_736_000_000_000;

/// This host: Unix sockets, sealed memory, devices, and the time of tokio's runtime.
#[derive(Clone)]
pub struct Linux {
    clock: Clock,
    log: Arc<dyn Fn(&Log) + Send + Sync>,
}

impl Linux {
    /// With what takes news for people.
    #[must_use]
    pub fn new(log: impl Fn(&Log) + Send + Sync + 'static) -> Self {
        Self { clock: Clock::start(), log: Arc::new(log) }
    }
}

impl System for Linux {
    type Socket = UnixPackets;
    type Memory = Buffer;

    fn pair(&self) -> io::Result<Pair<UnixPackets>> {
        let (own, theirs) = socket::pair()?;
        let cookie = socket::cookie(&theirs)?;
        Ok(Pair { own: UnixPackets::new(own)?, theirs, cookie })
    }

    fn cookie(&self, descriptor: &OwnedFd) -> Option<u64> {
        socket::cookie(descriptor).ok()
    }

    fn memory(&self, slots: u16, slot_len: u32) -> io::Result<(OwnedFd, Vec<Buffer>)> {
        let len = u64::from(slots).saturating_mul(slot_len.into());
        let file = socket::memory(len)?;
        let slot = |at: u16| {
            let offset = u64::from(at).saturating_mul(slot_len.into());
            Buffer::map(file.as_fd(), offset, slot_len)
        };
        let buffers = (0..slots).map(slot).collect::<io::Result<_>>()?;
        Ok((file, buffers))
    }

    fn now(&self) -> Instant {
        self.clock.now()
    }

    fn sleep(&self, time: Duration) -> Boxed<()> {
        Box::pin(tokio::time::sleep(time))
    }

    fn salt(&self) -> Option<[u8; 32]> {
        let mut salt = [0; 32];
        getrandom::fill(&mut salt).ok().map(|()| salt)
    }

    #[expect(clippy::disallowed_methods, reason = "clients are told the time of the day")]
    fn system_time(&self) -> u64 {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_nanos() / 100).unwrap_or(0).saturating_add(EPOCH)
    }

    fn log(&self, log: Log) {
        (self.log)(&log);
    }
}

impl fmt::Debug for Linux {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Linux").finish_non_exhaustive()
    }
}
