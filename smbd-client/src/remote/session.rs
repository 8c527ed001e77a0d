//! A connection, the users who are logged in, and further connections of theirs.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use smbd_smb2::client::{self, BindError, Client, Config, Params, RegistrationId};
use smbd_smb2::security::{Credentials, RdmaTransforms};
use smbd_smb2::wire::{Guid, SessionId};

use super::channels::{self, Lane};
use super::command::{Reply, What};
use super::commands::Commands;
use super::handle::{Handle, nothing};
use super::key::{Place, SessionKey};
use super::settings::Settings;
use super::share::Share;
use super::surroundings::Surroundings;
use crate::Error;
use crate::drive::Driver;
use smbd_link::time::TokioTime;
use smbd_link::transport::{Limits, Transport};

/// Operations that may be under way at once.
const OPERATIONS: u16 = 64;
/// Of a session with several connections: when a server that says nothing is asked whether it is there, and when the connection is over.
const ECHO_AFTER: Duration = Duration::from_secs(10);
const SILENCE_MAX: Duration = Duration::from_secs(20);
/// How many times as long as its answer a request may wait when the server says that it works on it (3.2.5.1.5). It is what Windows does.
const PENDING_FACTOR: u32 = 4;
/// How many connections of a session can be lost, or be bound in vain, and replaced.
const REPLACED_MAX: u16 = 2;

/// A connection to a server. When it and all handles that came of it are dropped, the connection is closed.
#[derive(Clone, Debug)]
pub struct Remote {
    handle: Handle,
    client: Arc<This>,
}

/// What all connections of a client have in common.
#[derive(Debug)]
struct This {
    settings: Settings,
    guid: Guid,
}

impl Remote {
    /// Over a transport that is connected. Returns at once, with the future that drives the connection, which the caller spawns inside
    /// a runtime with time enabled. It is ready when the connection is over.
    ///
    /// # Errors
    /// [`Error::Config`]: the transport is none that a client can use. [`Error::Entropy`].
    pub fn over<T: Transport<RegistrationId> + Send + 'static>(
        transport: T,
        settings: &Settings,
    ) -> Result<(Self, impl Future<Output = ()> + Send + use<T>), Error> {
        Self::over_in(transport, settings, TokioTime::start())
    }

    /// The same, with what else it needs than a transport. It needs no runtime.
    ///
    /// # Errors
    /// As of [`Self::over`].
    pub fn over_in<T: Transport<RegistrationId>, S: Surroundings>(
        transport: T,
        settings: &Settings,
        surroundings: S,
    ) -> Result<(Self, impl Future<Output = ()> + use<T, S>), Error> {
        let client = Arc::new(This { settings: settings.clone(), guid: Guid(random(&surroundings)?) });
        let (lane, driver) = client.connection(transport, surroundings)?;
        Ok((Self { handle: Handle::new(lane), client }, driver))
    }

    /// Logs a user in. Waits for the server.
    ///
    /// # Errors
    /// [`Error::Status`]: the server lets this user not in. [`Error::Failure`], [`Error::Ended`].
    pub async fn login(&self, user: Credentials) -> Result<Session, Error> {
        let of = |reply| match reply {
            Reply::Session(session) => Some(session),
            _ => None,
        };
        let place = self.client.settings.keeps_keys.then(Place::default);
        let session = self.handle.ask(What::Login(user, place.clone()), of, "SESSION_SETUP").await?;
        let key = place.and_then(|place| SessionKey::left(session, &place));
        let handle = self.handle.of_session().ok_or_else(|| self.handle.channels().why())?;
        Ok(Session { handle, client: Arc::clone(&self.client), session, key })
    }
}

impl This {
    /// A client on a connection, and what drives it.
    fn connection<T: Transport<RegistrationId>, S: Surroundings>(
        &self,
        transport: T,
        surroundings: S,
    ) -> Result<(Lane, impl Future<Output = ()> + use<T, S>), Error> {
        let settings = &self.settings;
        let bindings = match settings.others() {
            0 => 0,
            others => others.saturating_add(REPLACED_MAX),
        };
        let usual = Params::default();
        let (echo_after, silence_max) = match bindings {
            0 => (usual.echo_after, usual.silence_max),
            _ => (ECHO_AFTER, SILENCE_MAX),
        };
        let limits = limits(transport.limits(), settings.rdma_threshold);
        let rdma_transforms = limits.rdma.map_or(RdmaTransforms::NONE, |_| settings.rdma_transforms);
        let config = Config::new(Params {
            client_guid: self.guid,
            salt: random(&surroundings)?,
            server_name: settings.server.clone(),
            min_dialect: settings.min_dialect,
            max_dialect: settings.max_dialect,
            require_encryption: settings.encrypt,
            require_signing: settings.sign,
            allow_guests: settings.guest,
            ciphers: settings.ciphers.clone(),
            signing: settings.signing.clone(),
            rdma_transforms,
            transport: limits,
            operations: OPERATIONS,
            timeout: settings.timeout,
            pending_timeout: Some(settings.timeout.saturating_mul(PENDING_FACTOR)),
            bindings,
            echo_after,
            silence_max,
            ..usual
        })?;
        let (lane, inlet) = channels::lane(&limits, settings.rdma_first);
        let upper = Commands::new(inlet, limits, settings, surroundings.clone());
        let driver = Driver::new(Client::new(config), transport, upper, surroundings);
        Ok((lane, driver.run()))
    }
}

/// What a transport carries, as a client uses it.
fn limits(Limits { max_send, max_receive, rdma }: Limits, threshold: Option<u32>) -> client::Transport {
    let rdma = rdma.map(|rdma| client::Rdma {
        threshold: threshold.unwrap_or(u32::MAX),
        max_read_write: rdma.max_read_write,
        invalidates: rdma.remote_invalidation,
    });
    client::Transport { max_send, max_receive, rdma }
}

fn random<const N: usize>(surroundings: &impl Surroundings) -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    surroundings.random(&mut bytes)?;
    Ok(bytes)
}

/// A user who is logged in. When the session expires, the user is authenticated again.
#[derive(Clone, Debug)]
pub struct Session {
    handle: Handle,
    client: Arc<This>,
    session: SessionId,
    key: Option<SessionKey>,
}

impl Session {
    /// Its key, if [`Settings::keeps_keys`] says so: for who reads a capture, as a line for Wireshark.
    #[must_use]
    pub const fn key(&self) -> Option<&SessionKey> {
        self.key.as_ref()
    }

    /// Connects a share, by its name. Waits for the server.
    ///
    /// # Errors
    /// [`Error::Status`]: there is no such share, or the user may not use it. [`Error::Failure`], [`Error::Ended`].
    pub async fn connect(&self, share: &str) -> Result<Share, Error> {
        let of = |reply| match reply {
            Reply::Tree(connected) => Some(connected),
            _ => None,
        };
        let path = format!(r"\\{}\{share}", self.client.settings.server);
        let connected = self.handle.ask(What::Connect(self.session, path), of, "TREE_CONNECT").await?;
        Ok(Share::new(self.handle.clone(), connected))
    }

    /// Another connection of this session, over a transport to the same server. Returns at once, with the future that drives it, which the
    /// caller spawns as that of [`Remote::over`]. It is used once [`Channel::bind`] has ended: READs and WRITEs then go to the connection
    /// with the fewest of them.
    ///
    /// When a connection of several ends, what was under way there goes on at the others, if carrying it out twice is the same as once;
    /// the rest fails with [`Error::Unknown`].
    ///
    /// # Errors
    /// As of [`Remote::over`].
    pub fn channel<T: Transport<RegistrationId> + Send + 'static>(
        &self,
        transport: T,
    ) -> Result<(Channel, impl Future<Output = ()> + Send + use<T>), Error> {
        self.channel_in(transport, TokioTime::start())
    }

    /// The same, with what else it needs than a transport, as [`Remote::over_in`].
    ///
    /// # Errors
    /// As of [`Remote::over`].
    pub fn channel_in<T: Transport<RegistrationId>, S: Surroundings>(
        &self,
        transport: T,
        surroundings: S,
    ) -> Result<(Channel, impl Future<Output = ()> + use<T, S>), Error> {
        let (lane, driver) = self.client.connection(transport, surroundings)?;
        Ok((Channel { own: Handle::new(lane.clone()), lane, session: self.clone() }, driver))
    }

    /// How many connections it has, and how many it has lost.
    #[must_use]
    pub fn connections(&self) -> (usize, usize) {
        self.handle.channels().count()
    }

    /// Logs the user off. Shares and files of the session are gone then.
    ///
    /// # Errors
    /// [`Error::Ended`], or what the server says.
    pub async fn logoff(self) -> Result<(), Error> {
        self.handle.ask(What::Logoff(self.session), nothing, "LOGOFF").await
    }
}

/// A connection that is to be one of a session.
#[derive(Debug)]
pub struct Channel {
    /// The way to this connection alone.
    own: Handle,
    lane: Lane,
    session: Session,
}

impl Channel {
    /// Binds the session to the connection (3.2.4.2.3): its user is authenticated again. Waits for the server.
    ///
    /// # Errors
    /// [`Error::Refused`]: the server knows no sessions on several connections, or the session has as many as it may have
    /// ([`Settings::channels`]; two can be replaced). [`Error::Status`]: the server refuses it. [`Error::Failure`], [`Error::Ended`]. The connection is closed
    /// then.
    pub async fn bind(self) -> Result<(), Error> {
        let bindable = |reply| match reply {
            Reply::Bindable(bindable) => Some(bindable),
            _ => None,
        };
        let bound = |reply| match reply {
            Reply::Session(session) => Some(session),
            _ => None,
        };
        let Self { own, lane, session } = self;
        let max = session.client.settings.others();
        if session.connections().0 > max.into() {
            return Err(Error::Refused(BindError::TooMany { max }.into()));
        }
        let what = What::Export(session.session);
        let given = session.handle.ask(what, bindable, "SESSION_SETUP").await?;
        own.ask(What::Bind(Some(given)), bound, "SESSION_SETUP").await?;
        session.handle.channels().add(lane);
        Ok(())
    }
}
