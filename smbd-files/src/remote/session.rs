//! A connection, and the users who are logged in.

use std::future::Future;
use std::sync::Arc;

use smbd_smb2::client::{Client, Config, Params, SessionHandle};
use smbd_smb2::security::{Credentials, RdmaTransforms};
use smbd_smb2::wire::Guid;
use tokio::sync::mpsc;

use super::command::{Reply, What};
use super::commands::Commands;
use super::handle::{Ended, Handle, nothing};
use super::settings::Settings;
use super::share::Share;
use crate::Error;
use crate::drive::{Driver, TokioTime};
use crate::transport::Transport;

/// Commands that may wait for the driver.
const COMMANDS: usize = 32;
/// Operations that may be under way at once.
const OPERATIONS: u16 = 64;

/// A connection to a server. When it and all handles that came of it are dropped, the connection is closed.
#[derive(Clone, Debug)]
pub struct Remote {
    handle: Handle,
    server: Arc<str>,
}

impl Remote {
    /// Over a transport that is connected. Returns at once, with the future that drives the connection, which the caller spawns inside
    /// a runtime with time enabled. It is ready when the connection is over.
    ///
    /// # Errors
    /// [`Error::Config`]: the transport is none that a client can use. [`Error::Entropy`].
    pub fn over<T: Transport + Send + 'static>(
        transport: T,
        settings: &Settings,
    ) -> Result<(Self, impl Future<Output = ()> + Send + use<T>), Error> {
        let (mut guid, mut salt) = ([0; 16], [0; 32]);
        getrandom::fill(&mut guid).map_err(Error::Entropy)?;
        getrandom::fill(&mut salt).map_err(Error::Entropy)?;
        let limits = transport.limits();
        let rdma_transforms = limits.rdma.map_or(RdmaTransforms::NONE, |_| settings.rdma_transforms);
        let config = Config::new(Params {
            client_guid: Guid(guid),
            salt,
            server_name: settings.server.clone(),
            min_dialect: settings.min_dialect,
            max_dialect: settings.max_dialect,
            require_encryption: settings.encrypt,
            require_signing: settings.sign,
            ciphers: settings.ciphers.clone(),
            signing: settings.signing.clone(),
            rdma_transforms,
            transport: limits,
            operations: OPERATIONS,
            timeout: settings.timeout,
            ..Params::default()
        })?;
        let ended = Ended::default();
        let (commands, asked) = mpsc::channel(COMMANDS);
        let upper = Commands::new(asked, limits, settings, Arc::clone(&ended));
        let driver = Driver::new(Client::new(config), transport, upper, TokioTime::start());
        let remote = Self { handle: Handle::new(commands, ended), server: settings.server.as_str().into() };
        Ok((remote, driver.run()))
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
        let session = self.handle.ask(What::Login(user), of, "SESSION_SETUP").await?;
        Ok(Session { handle: self.handle.clone(), server: Arc::clone(&self.server), session })
    }
}

/// A user who is logged in. When the session expires, the user is authenticated again.
#[derive(Clone, Debug)]
pub struct Session {
    handle: Handle,
    server: Arc<str>,
    session: SessionHandle,
}

impl Session {
    /// Connects a share, by its name. Waits for the server.
    ///
    /// # Errors
    /// [`Error::Status`]: there is no such share, or the user may not use it. [`Error::Failure`], [`Error::Ended`].
    pub async fn connect(&self, share: &str) -> Result<Share, Error> {
        let of = |reply| match reply {
            Reply::Tree(connected) => Some(connected),
            _ => None,
        };
        let path = format!(r"\\{}\{share}", self.server);
        let connected = self.handle.ask(What::Connect(self.session, path), of, "TREE_CONNECT").await?;
        Ok(Share::new(self.handle.clone(), connected))
    }

    /// Logs the user off. Shares and files of the session are gone then.
    ///
    /// # Errors
    /// [`Error::Ended`], or what the server says.
    pub async fn logoff(self) -> Result<(), Error> {
        self.handle.ask(What::Logoff(self.session), nothing, "LOGOFF").await
    }
}
