//! What the program that started this one is told: the protocol of `sd_notify(3)`.

use std::convert::Infallible;
use std::ffi::OsStr;
use std::future::pending;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tokio::time::{Instant, sleep_until};

use crate::trouble::Trouble;

/// The time that a message may take. Whoever asked for them reads them, but may be stopped.
const WITHIN: Duration = Duration::from_secs(1);

/// Tells the service manager; nobody, if none asked for it.
#[derive(Debug)]
pub struct Notify {
    socket: Option<UnixDatagram>,
    watchdog: Option<Watchdog>,
}

/// It wants to hear again and again that the program is alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Watchdog {
    every: Duration,
    /// When it has to be told next; `None` before the first time.
    next: Option<Instant>,
}

/// What it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It serves, or does so again after [`Self::Reloading`].
    Ready,
    /// It reads its configuration again.
    Reloading,
    /// It ends, within this time.
    Stopping(Duration),
    /// It is alive.
    Alive,
}

impl Notify {
    /// Who is asked for by the environment: NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID.
    ///
    /// # Errors
    /// NOTIFY_SOCKET names no socket that can be sent to.
    pub fn of_environment() -> Result<Self, Trouble> {
        let variable = |name: &str| std::env::var_os(name);
        let text = |name: &str| variable(name).and_then(|value| value.into_string().ok());
        let watchdog = watchdog(text("WATCHDOG_USEC").as_deref(), text("WATCHDOG_PID").as_deref());
        Self::to(variable("NOTIFY_SOCKET").as_deref(), watchdog)
            .map_err(|error| Trouble::other(&format!("NOTIFY_SOCKET: {error}")))
    }

    pub(crate) fn to(address: Option<&OsStr>, every: Option<Duration>) -> io::Result<Self> {
        let Some(address) = address.filter(|address| !address.is_empty()) else {
            return Ok(Self { socket: None, watchdog: None });
        };
        let address = match address.as_bytes() {
            [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
            _ => SocketAddr::from_pathname(address)?,
        };
        let socket = UnixDatagram::unbound()?;
        socket.connect_addr(&address)?;
        socket.set_write_timeout(Some(WITHIN))?;
        Ok(Self { socket: Some(socket), watchdog: every.map(|every| Watchdog { every, next: None }) })
    }

    /// Tells it again and again that the program is alive, if it wants that. Never returns. This method is cancel safe.
    pub async fn keep_alive(&mut self) -> Infallible {
        loop {
            let Some(Watchdog { every, next }) = &mut self.watchdog else { return pending().await };
            if let Some(next) = next {
                sleep_until(*next).await;
            }
            *next = Some(Instant::now() + *every);
            self.tell(State::Alive, "");
        }
    }

    /// Tells it the state, with a word of what the program does.
    pub fn tell(&self, state: State, status: &str) {
        let Some(socket) = &self.socket else { return };
        let text = match state {
            State::Ready => "READY=1".to_owned(),
            State::Reloading => format!("RELOADING=1\nMONOTONIC_USEC={}", monotonic_us()),
            State::Stopping(within) => format!("STOPPING=1\nEXTEND_TIMEOUT_USEC={}", within.as_micros()),
            State::Alive => "WATCHDOG=1".to_owned(),
        };
        let status = status.replace('\n', " ");
        let status = if status.is_empty() { status } else { format!("\nSTATUS={status}") };
        // What it does not take is lost, as it would be without it.
        let _ = socket.send((text + &status).as_bytes());
    }
}

/// Half of the time after which it would end the program.
fn watchdog(usec: Option<&str>, pid: Option<&str>) -> Option<Duration> {
    let is_for_another = pid.is_some_and(|pid| pid.parse() != Ok(std::process::id()));
    let usec: u64 = usec.filter(|_| !is_for_another)?.parse().ok()?;
    Some(Duration::from_micros(usec / 2)).filter(|every| !every.is_zero())
}

/// Time of the clock that `RELOADING=1` is compared with.
fn monotonic_us() -> i64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.saturating_mul(1_000_000).saturating_add(now.tv_nsec / 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received(socket: &UnixDatagram) -> String {
        let mut bytes = [0; 500];
        let len = socket.recv(&mut bytes).unwrap();
        String::from_utf8(bytes[..len].to_vec()).unwrap()
    }

    fn told_to(socket: &UnixDatagram, address: &str) {
        let notify = Notify::to(Some(address.as_ref()), None).unwrap();
        notify.tell(State::Ready, "listening at\n10.9.0.1:5445");
        assert_eq!(received(socket), "READY=1\nSTATUS=listening at 10.9.0.1:5445");
        notify.tell(State::Stopping(Duration::from_secs(15)), "3 connections");
        assert_eq!(received(socket), "STOPPING=1\nEXTEND_TIMEOUT_USEC=15000000\nSTATUS=3 connections");
        notify.tell(State::Alive, "");
        assert_eq!(received(socket), "WATCHDOG=1");
        notify.tell(State::Reloading, "");
        let said = received(socket);
        let time: i64 = said.strip_prefix("RELOADING=1\nMONOTONIC_USEC=").unwrap().parse().unwrap();
        assert!(time > 0 && time <= monotonic_us());
    }

    #[test]
    fn a_socket_with_a_path_is_told_each_state_in_a_message() {
        let path = std::env::temp_dir().join(format!("smbd-daemon-notify-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let socket = UnixDatagram::bind(&path).unwrap();
        told_to(&socket, path.to_str().unwrap());
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn so_is_one_with_an_abstract_name() {
        let name = format!("smbd-daemon-notify-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        told_to(&UnixDatagram::bind_addr(&address).unwrap(), &format!("@{name}"));
    }

    #[test]
    fn nobody_is_told_if_nobody_asked_and_an_address_where_nobody_is_is_an_error() {
        for nobody in [None, Some(OsStr::new(""))] {
            let notify = Notify::to(nobody, Some(WITHIN)).unwrap();
            notify.tell(State::Ready, "");
            assert_eq!(notify.watchdog, None);
        }
        assert!(Notify::to(Some(OsStr::new("/nowhere/notify")), None).is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn the_watchdog_hears_of_the_program_as_often_as_it_wants_whatever_else_comes() {
        let name = format!("smbd-daemon-watchdog-{}", std::process::id());
        let socket = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        socket.set_nonblocking(true).unwrap();
        let every = Duration::from_secs(3);
        let mut notify = Notify::to(Some(format!("@{name}").as_ref()), Some(every)).unwrap();
        let mut heard = 0;
        for second in 0..10 {
            // Something else comes each second.
            let _ = tokio::time::timeout(Duration::from_secs(1), notify.keep_alive()).await;
            while socket.recv(&mut [0; 50]).is_ok() {
                heard += 1;
            }
            assert_eq!(heard, 1 + (second + 1) / 3, "{second}");
        }
    }

    #[test]
    fn the_watchdog_is_told_twice_as_often_as_it_wants_if_it_watches_this_process() {
        let own = std::process::id().to_string();
        let half = Some(Duration::from_millis(1500));
        assert_eq!(watchdog(Some("3000000"), None), half);
        assert_eq!(watchdog(Some("3000000"), Some(&own)), half);
        assert_eq!(watchdog(Some("3000000"), Some("1")), None);
        assert_eq!(watchdog(Some("0"), None), None);
        assert_eq!(watchdog(Some("soon"), None), None);
        assert_eq!(watchdog(None, Some(&own)), None);
    }
}
