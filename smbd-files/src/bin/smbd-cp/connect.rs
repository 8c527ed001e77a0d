//! A server is reached, and a user logged in.

use std::net::SocketAddr;
use std::time::Duration;

use smbd_files::transport::{Tcp, Transport};
use smbd_files::{Error, Remote, Session, Settings, Share};
use smbd_smb2::security::{Credentials, NtHash};
use tokio::net::{TcpStream, lookup_host};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::options::Common;
use crate::place::{Place, Scheme};
use crate::trouble::Trouble;

/// The port of SMB over TCP.
const PORT: u16 = 445;
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

/// Connects to a server and to a share of it. `driver` gets what drives the connection.
pub(crate) async fn connect(
    place: &Place,
    common: &Common,
    password: &str,
    driver: &mut Option<JoinHandle<()>>,
) -> Result<Connection, Trouble> {
    let within = Duration::from_secs(common.connect_timeout.into());
    let settings = Settings { encrypt: common.encrypt, sign: common.sign, ..Settings::new(&place.host) };
    let remote = match place.scheme {
        Scheme::Smb => drive(tcp(place, within).await?, &settings, driver),
        #[cfg(feature = "verbs")]
        Scheme::Rdma => rdma(place, within, &settings, driver).await,
        #[cfg(not(feature = "verbs"))]
        Scheme::Rdma => Err(Trouble::Usage(crate::place::NO_RDMA.into())),
    }?;
    let user = Credentials::User {
        user: place.user.clone(),
        domain: place.domain.clone(),
        hash: NtHash::of_password(password),
    };
    let login = remote.login(user).await;
    let session = login.map_err(|error| told("cannot log in", place, &error))?;
    let share = session.connect(&place.share).await;
    let share = share.map_err(|error| told("cannot connect the share", place, &error))?;
    Ok(Connection { share, session })
}

fn told(what: &str, place: &Place, error: &Error) -> Trouble {
    Trouble::Failed(format!("{place}: {what}: {error}"))
}

fn drive(
    transport: impl Transport + Send + 'static,
    settings: &Settings,
    driver: &mut Option<JoinHandle<()>>,
) -> Result<Remote, Trouble> {
    let (remote, future) = Remote::over(transport, settings).map_err(Trouble::failed)?;
    *driver = Some(tokio::spawn(future));
    Ok(remote)
}

async fn addresses(place: &Place, port: u16) -> Result<Vec<SocketAddr>, Trouble> {
    let found = lookup_host((place.host.as_str(), port)).await;
    let found: Vec<_> = found.map_err(|error| Trouble::Failed(format!("{place}: {error}")))?.collect();
    if found.is_empty() {
        return Err(Trouble::Failed(format!("{place}: the host has no address")));
    }
    Ok(found)
}

/// Of several addresses, the first that answers.
async fn tcp(place: &Place, within: Duration) -> Result<Tcp, Trouble> {
    let mut all = Vec::new();
    for address in addresses(place, place.port.unwrap_or(PORT)).await? {
        let why = match timeout(within, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return Tcp::new(stream).map_err(Trouble::failed),
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("no answer within {} s", within.as_secs()),
        };
        all.push(format!("{address}: {why}"));
    }
    Err(Trouble::Failed(format!("{place}: cannot connect: {}", all.join("; "))))
}

#[cfg(feature = "verbs")]
async fn rdma(
    place: &Place,
    within: Duration,
    settings: &Settings,
    driver: &mut Option<JoinHandle<()>>,
) -> Result<Remote, Trouble> {
    use smbd_files::transport::{Connector, DEFAULT_PORTS};

    let connector = Connector::new(settings.buffers, within).map_err(Trouble::failed)?;
    let ports = place.port.map_or(DEFAULT_PORTS.to_vec(), |port| vec![port]);
    let mut all = Vec::new();
    for port in ports {
        for address in addresses(place, port).await? {
            let why = match timeout(within, connector.connect(address)).await {
                Ok(Ok(transport)) => return drive(transport, settings, driver),
                Ok(Err(failure)) => failure.to_string(),
                Err(_) => format!("no answer within {} s", within.as_secs()),
            };
            all.push(format!("{address}: {why}"));
        }
    }
    Err(Trouble::Failed(format!("{place}: cannot connect: {}", all.join("; "))))
}
