//! A server is reached, and a user logged in.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;

use smbd_client::{Error, Remote, Session, SessionKey, Settings, Share, Tcp};
use smbd_link::transport::Transport;
use smbd_smb2::client::RegistrationId;
use smbd_smb2::security::{Credentials, NtHash};
use tokio::net::{TcpStream, lookup_host};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::options::Common;
use crate::place::{Place, Scheme};
use crate::trouble::Trouble;
use crate::{channels, reach, say};

/// How long a server may take to log a user off.
const LOGOFF_WITHIN: Duration = Duration::from_secs(2);

/// A share of a server, and whoever uses it.
pub(crate) struct Connection {
    pub(crate) share: Share,
    session: Session,
}

impl Connection {
    /// Logs the user off.
    pub(crate) async fn close(self) {
        drop(self.share);
        // The end of the connection ends the session as well.
        let _ = timeout(LOGOFF_WITHIN, self.session.logoff()).await;
    }
}

/// What is wanted of a connection to a server.
///
/// # Errors
/// The options cannot be had together.
pub(crate) fn settings(place: &Place, common: &Common) -> Result<Settings, String> {
    common.offer.settings(Settings {
        encrypt: common.encrypt,
        sign: common.sign,
        guest: common.guest,
        channels: common.channels(place.scheme),
        rdma_first: common.looks_for_rdma(place.scheme),
        keeps_keys: common.wireshark_keys.is_some(),
        ..Settings::new(&place.host)
    })
}

/// Connects to a server and to a share of it. `drivers` gets what drives its connections.
pub(crate) async fn connect(
    place: &Place,
    common: &Common,
    (settings, password): (&Settings, &str),
    drivers: &mut Vec<JoinHandle<()>>,
) -> Result<Connection, Trouble> {
    let within = Duration::from_secs(common.connect_timeout.into());
    let remote = match place.scheme {
        Scheme::Smb => drive(tcp(place, within).await?, settings, drivers),
        #[cfg(feature = "verbs")]
        Scheme::Rdma => rdma(place, within, settings, drivers).await,
        #[cfg(not(feature = "verbs"))]
        Scheme::Rdma => Err(Trouble::Usage(crate::place::NO_RDMA.into())),
    }?;
    let user = Credentials::User {
        user: place.user.clone(),
        domain: place.domain.clone(),
        hash: NtHash::of_password(password),
    };
    let login = answered(within, remote.login(user)).await;
    let session = login.map_err(|why| told("cannot log in", place, &why))?;
    if let (Some(path), Some(key)) = (&common.wireshark_keys, session.key()) {
        append(path, key)
            .map_err(|error| Trouble::Failed(format!("--wireshark-keys {}: {error}", path.display())))?;
    }
    let share = answered(within, session.connect(&place.share)).await;
    let share = share.map_err(|why| told("cannot connect the share", place, &why))?;
    let chosen = share.negotiated().signing;
    common.offer.check(chosen).map_err(|wrong| Trouble::Failed(format!("{place}: {wrong}")))?;
    // One connection is enough.
    if settings.rdma_first {
        if let Err(why) = channels::look(place, within, settings, (&session, &share), drivers).await {
            say::trouble(format_args!("{place}: the server has RDMA, and cannot be reached by it: {why}"));
        }
    } else if settings.channels > 1
        && let Err(why) = channels::open(place, within, settings, (&session, &share), drivers).await
    {
        say::trouble(format_args!("{place}: no further connection: {why}"));
    }
    Ok(Connection { share, session })
}

/// Appends the key of a session to a file that nobody else may read.
fn append(path: &Path, key: &SessionKey) -> io::Result<()> {
    let mut file = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
    writeln!(file, "{key}")
}

fn told(what: &str, place: &Place, why: &str) -> Trouble {
    Trouble::Failed(format!("{place}: {what}: {why}"))
}

/// What a server answers in time.
async fn answered<T>(within: Duration, call: impl Future<Output = Result<T, Error>>) -> Result<T, String> {
    match timeout(within, call).await {
        Ok(result) => result.map_err(|error| error.to_string()),
        Err(_) => Err(reach::silent(within)),
    }
}

fn drive(
    transport: impl Transport<RegistrationId> + Send + 'static,
    settings: &Settings,
    drivers: &mut Vec<JoinHandle<()>>,
) -> Result<Remote, Trouble> {
    let (remote, future) = Remote::over(transport, settings).map_err(Trouble::failed)?;
    drivers.push(tokio::spawn(future));
    Ok(remote)
}

async fn addresses(place: &Place, port: u16, within: Duration) -> Result<Vec<SocketAddr>, Trouble> {
    let found = timeout(within, lookup_host((place.host.as_str(), port))).await;
    let found = found.map_err(|_| told("cannot find the host", place, &reach::silent(within)))?;
    let found: Vec<_> = found.map_err(|error| Trouble::Failed(format!("{place}: {error}")))?.collect();
    if found.is_empty() {
        return Err(Trouble::Failed(format!("{place}: the host has no address")));
    }
    Ok(found)
}

/// Of several addresses, the first that answers.
async fn tcp(place: &Place, within: Duration) -> Result<Tcp<TcpStream>, Trouble> {
    let mut all = Vec::new();
    for address in addresses(place, place.port.unwrap_or(reach::PORT), within).await? {
        match reach::tcp(address, within).await {
            Ok(tcp) => return Ok(tcp),
            Err(why) => all.push(format!("{address}: {why}")),
        }
    }
    Err(Trouble::Failed(format!("{place}: cannot connect: {}", all.join("; "))))
}

#[cfg(feature = "verbs")]
async fn rdma(
    place: &Place,
    within: Duration,
    settings: &Settings,
    drivers: &mut Vec<JoinHandle<()>>,
) -> Result<Remote, Trouble> {
    let ports = place.port.map_or(smbd_client::DEFAULT_PORTS.to_vec(), |port| vec![port]);
    let mut all = Vec::new();
    for port in ports {
        for address in addresses(place, port, within).await? {
            match reach::rdma(address, within, settings).await {
                Ok(transport) => return drive(transport, settings, drivers),
                Err(why) => all.push(format!("{address}: {why}")),
            }
        }
    }
    Err(Trouble::Failed(format!("{place}: cannot connect: {}", all.join("; "))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_server_that_accepts_and_answers_nothing_is_given_up_after_the_time_of_the_connection() {
        let silent = answered(Duration::from_secs(3), std::future::pending::<Result<(), Error>>());
        let began = tokio::time::Instant::now();
        assert_eq!(silent.await, Err("no answer within 3 s".into()));
        assert_eq!(began.elapsed().as_secs(), 3);
    }
}
