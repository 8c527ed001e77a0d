//! The unread bytes of a TCP connection of this host, from `/proc/net/tcp`. The table has the connections of software
//! iWARP devices, too.

use std::io;
use std::net::SocketAddr;

/// Whether there is any. Not in a connection that the kernel does not know.
pub(super) fn is_any(local: SocketAddr, peer: SocketAddr) -> io::Result<bool> {
    let table = if local.is_ipv4() { "/proc/net/tcp" } else { "/proc/net/tcp6" };
    Ok(bytes(&std::fs::read_to_string(table)?, local, peer).is_some_and(|bytes| bytes > 0))
}

fn bytes(table: &str, local: SocketAddr, peer: SocketAddr) -> Option<u32> {
    let (local, peer) = (written(local), written(peer));
    table.lines().skip(1).find_map(|line| {
        let mut fields = line.split_ascii_whitespace().skip(1);
        let (near, far, _state, queues) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
        let (_sending, received) = queues.split_once(':')?;
        (near == local && far == peer).then(|| u32::from_str_radix(received, 16).ok()).flatten()
    })
}

/// As the table has it: words of the address as this machine reads them.
fn written(address: SocketAddr) -> String {
    let words = match address {
        SocketAddr::V4(v4) => v4.ip().octets().to_vec(),
        SocketAddr::V6(v6) => v6.ip().octets().to_vec(),
    };
    let (words, _) = words.as_chunks();
    let ip: String = words.iter().map(|word| format!("{:08X}", u32::from_ne_bytes(*word))).collect();
    format!("{ip}:{:04X}", address.port())
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpListener, TcpStream};

    use super::{bytes, is_any};

    const TABLE: &str = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0109090A:1B58 00000000:0000 0A 00000000:0000001F 00:00000000 00000000     0        0 19 1 0 100 0 0 10 0
   1: 0109090A:1B58 0209090A:C350 01 00000010:00000030 00:00000000 00000000     0        0 20 1 0 20 0 0 10 -1
   2: 0109090A:1B58 0209090A:C351 01 00000010:00000000 00:00000000 00000000     0        0 21 1 0 20 0 0 10 -1
";
    const TABLE6: &str = "\
  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when
   0: 0000000000000000FFFF00000109090A:1B58 0000000000000000FFFF00000209090A:C350 01 00000000:00000014 00:00000000
";

    fn address(text: &str) -> SocketAddr {
        text.parse().expect("an address")
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn the_line_of_the_connection_says_it() {
        let local = address("10.9.9.1:7000");
        assert_eq!(bytes(TABLE, local, address("10.9.9.2:50000")), Some(48));
        assert_eq!(bytes(TABLE, local, address("10.9.9.2:50001")), Some(0));
        assert_eq!(bytes(TABLE, local, address("10.9.9.2:50002")), None);
        let (local, peer) = (address("[::ffff:10.9.9.1]:7000"), address("[::ffff:10.9.9.2]:50000"));
        assert_eq!(bytes(TABLE6, local, peer), Some(20));
    }

    #[test]
    fn this_hosts_own_connections_are_found() {
        for any in ["127.0.0.1:0", "[::1]:0"] {
            // There may be no IPv6.
            let Ok(listener) = TcpListener::bind(any) else { continue };
            let mut near = TcpStream::connect(listener.local_addr().expect("an address")).expect("connected");
            let (mut far, peer) = listener.accept().expect("accepted");
            let local = far.local_addr().expect("an address");
            assert!(!is_any(local, peer).expect("told"));
            near.write_all(b"unread").expect("sent");
            // Waits until it has come, and leaves it there.
            far.peek(&mut [0]).expect("come");
            assert!(is_any(local, peer).expect("told"), "{local} {peer}");
            far.read_exact(&mut [0; 6]).expect("read");
            assert!(!is_any(local, peer).expect("told"));
        }
    }
}
