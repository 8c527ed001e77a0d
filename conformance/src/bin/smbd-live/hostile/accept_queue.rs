//! TCP connections that a listener has not accepted yet, as the kernel counts them.

use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use smbd_verbs::Clock;

use crate::case::Failure;
use crate::patience::PATIENCE;

const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// TCP_LISTEN in `/proc/net/tcp`.
const LISTEN: &str = "0A";

/// Waits until everything that was connected has been accepted.
pub(super) fn await_empty(at: SocketAddr) -> Result<(), Failure> {
    let clock = Clock::start();
    let until = clock.now().saturating_add(PATIENCE);
    loop {
        let waiting = waiting(&std::fs::read_to_string("/proc/net/tcp")?, at.port())
            .ok_or_else(|| format!("nobody listens on port {} any more", at.port()))?;
        if waiting == 0 {
            return Ok(());
        }
        if clock.now() >= until {
            return Err(format!("{waiting} connections were not accepted").into());
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// How many wait at a port; `None` if nobody listens there. A listener's `rx_queue` is its accept queue (proc_net_tcp).
fn waiting(table: &str, port: u16) -> Option<u32> {
    let port = format!("{port:04X}");
    table.lines().skip(1).find_map(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let (local, _remote, state, queues) =
            (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
        let is_it = state == LISTEN && local.rsplit(':').next() == Some(&port);
        let (_tx, rx) = queues.split_once(':')?;
        is_it.then(|| u32::from_str_radix(rx, 16).ok()).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::waiting;

    const TABLE: &str = "\
  sl  local_address rem_address   st tx_rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0109090A:1B58 0109090A:C350 01 00000000:00000007 00:00000000 00000000     0        0 20 1 0 20 0 0 10 -1
   1: 0109090A:1B58 00000000:0000 0A 00000000:0000001F 00:00000000 00000000     0        0 19 1 0 100 0 0 10 0
   2: 0109090A:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 18 1 0 100 0 0 10 0
";

    #[test]
    fn those_that_wait_are_the_receive_queue_of_the_listener() {
        assert_eq!(waiting(TABLE, 7000), Some(31));
        assert_eq!(waiting(TABLE, 22), Some(0));
        assert_eq!(waiting(TABLE, 7001), None);
    }
}
