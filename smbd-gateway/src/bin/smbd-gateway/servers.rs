//! Connections to servers.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

use crate::backends::Backend;

/// Why no socket can have a client's address.
const NOT_ALLOWED: &str = "`transparent` takes the capability CAP_NET_RAW or CAP_NET_ADMIN: AmbientCapabilities= of the unit, or root";

/// Connects a client to the first server of its backend that answers.
pub(crate) async fn reach(
    backend: &Backend,
    client: IpAddr,
    within: Duration,
) -> Result<(TcpStream, SocketAddr), String> {
    let client = client.to_canonical();
    let mut why = String::from("there is no server");
    for server in &backend.servers {
        if backend.transparent && server.is_ipv4() != client.is_ipv4() {
            why = format!(
                "`transparent` needs addresses of one family: the client has {client}, and the server {server}; give the backend \
                 a server for each"
            );
            continue;
        }
        why = match timeout(within, connect(backend, client, *server)).await {
            Ok(Ok(stream)) => return Ok((stream, *server)),
            Ok(Err(error)) => format!("the server {server} cannot be reached: {error}"),
            Err(_) if backend.transparent => format!(
                "the server {server} did not answer {client} within {} s; do its answers come back to this host (`transparent`: ip \
                 rule, ip route)?",
                within.as_secs()
            ),
            Err(_) => format!("the server {server} did not answer within {} s", within.as_secs()),
        };
    }
    Err(why)
}

/// An error unless this process may use the addresses of clients.
pub(crate) fn check_transparent() -> Result<(), String> {
    transparent(Domain::IPV4).map(drop).map_err(|error| error.to_string())
}

async fn connect(backend: &Backend, client: IpAddr, server: SocketAddr) -> io::Result<TcpStream> {
    if !backend.transparent {
        return TcpStream::connect(server).await;
    }
    let socket = transparent(Domain::for_address(server))?;
    socket.set_nonblocking(true)?;
    socket.bind(&SocketAddr::new(client, 0).into())?;
    TcpSocket::from_std_stream(socket.into()).connect(server).await
}

/// A socket that can have an address of another host. The option is that of IPv4, and holds for IPv6 too.
fn transparent(family: Domain) -> io::Result<Socket> {
    let socket = Socket::new(family, Type::STREAM, Some(Protocol::TCP))?;
    socket.set_ip_transparent_v4(true).map_err(|error| match error.kind() {
        ErrorKind::PermissionDenied => io::Error::new(ErrorKind::PermissionDenied, NOT_ALLOWED),
        _ => error,
    })?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio::runtime::Builder;

    use super::*;

    const WITHIN: Duration = Duration::from_secs(5);
    const SEES_THE_CLIENT: &str = "a_transparent_server_sees_the_clients_address_and_answers_it";
    /// Set in the network of its own.
    const INSIDE: &str = "SMBD_GATEWAY_INSIDE";
    /// The rules of README.md.
    const RULES: &str = "
        ip link set lo up
        ip rule add from 127.0.0.2 iif lo lookup 445 && ip route add local default dev lo table 445
        ip -6 rule add from ::1 iif lo lookup 445 && ip -6 route add local default dev lo table 445
        exec \"$@\"";

    fn backend(transparent: bool, servers: &[&str]) -> Backend {
        let servers = servers.iter().map(|server| server.parse().unwrap()).collect();
        Backend { name: None, servers, transparent }
    }

    fn run<T>(future: impl Future<Output = T>) -> T {
        Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
    }

    async fn sees(server: &str, client: &str) {
        let listener = TcpListener::bind(server).await.unwrap();
        let server = listener.local_addr().unwrap().to_string();
        let client: IpAddr = client.parse().unwrap();
        let backend = backend(true, &[&server]);
        let (mut stream, at) = reach(&backend, client, WITHIN).await.unwrap();
        assert_eq!(at.to_string(), server);
        let (mut accepted, seen) = listener.accept().await.unwrap();
        assert_eq!((seen.ip(), seen.port()), (client, stream.local_addr().unwrap().port()));
        stream.write_all(b"ask").await.unwrap();
        accepted.write_all(b"say").await.unwrap();
        let mut bytes = [0; 3];
        stream.read_exact(&mut bytes).await.unwrap();
        assert_eq!(&bytes, b"say");
        accepted.read_exact(&mut bytes).await.unwrap();
        assert_eq!(&bytes, b"ask");
    }

    /// In a network of its own, which takes user namespaces or root.
    #[test]
    fn a_transparent_server_sees_the_clients_address_and_answers_it() {
        if std::env::var_os(INSIDE).is_some() {
            run(async {
                sees("127.0.0.2:0", "10.9.0.2").await;
                sees("[::1]:0", "fd09::2").await;
            });
            return;
        }
        let own = std::env::current_exe().unwrap();
        let enter = ["--map-root-user", "--net", "sh", "-c"];
        let can = Command::new("unshare").args(enter).args([&RULES.replace("exec \"$@\"", "true")]).output();
        if !can.is_ok_and(|output| output.status.success() && output.stderr.is_empty()) {
            smbd_repository::skipped(SEES_THE_CLIENT, "no network of its own with rules can be had here");
            return;
        }
        let mut inside = Command::new("unshare");
        inside.args(enter).args([RULES, "sh"]).arg(own);
        inside.args([&format!("servers::tests::{SEES_THE_CLIENT}"), "--exact", "--nocapture"]);
        let output = inside.env(INSIDE, "1").output().unwrap();
        let said =
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
    }

    #[tokio::test]
    async fn the_first_server_that_answers_is_taken_and_otherwise_the_last_ones_reason_is_told() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().to_string();
        let here = listener.local_addr().unwrap().to_string();
        let client = "10.9.0.2".parse().unwrap();
        let (_, at) = reach(&backend(false, &[&gone, &here]), client, WITHIN).await.unwrap();
        assert_eq!(at.to_string(), here);
        let said = reach(&backend(false, &[&gone]), client, WITHIN).await.unwrap_err();
        assert!(said.contains(&gone) && said.contains("refused"), "{said}");
    }

    #[tokio::test]
    async fn a_client_of_the_other_family_is_told_what_is_missing() {
        let client = "fd09::2".parse().unwrap();
        let said = reach(&backend(true, &["127.0.0.1:445"]), client, WITHIN).await.unwrap_err();
        assert!(said.contains("one family") && said.contains("fd09::2"), "{said}");
        let mapped = "::ffff:10.9.0.2".parse().unwrap();
        let said = reach(&backend(true, &["[::1]:445"]), mapped, WITHIN).await.unwrap_err();
        assert!(said.contains("the client has 10.9.0.2"), "{said}");
    }

    #[test]
    fn without_the_capability_it_is_said_which_one_is_needed() {
        match check_transparent() {
            Ok(()) => smbd_repository::skipped(
                "without_the_capability_it_is_said_which_one_is_needed",
                "this process has CAP_NET_ADMIN",
            ),
            Err(said) => assert_eq!(said, NOT_ALLOWED),
        }
    }
}
