//! An owner that takes the connections that no rule matches.

use std::path::PathBuf;
use std::time::Duration;

use tokio::time::sleep;

use super::error::CallError;
use super::owner::{Broker, Connection, Incoming, connect};

/// How long to wait until a broker that is gone is asked for again.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Takes the connections that no rule matches. A broker that is gone is waited for.
#[derive(Debug)]
pub struct Acceptor {
    path: PathBuf,
    name: String,
    attached: Option<(Broker, Incoming)>,
}

/// What has come to an [`Acceptor`].
#[derive(Debug)]
pub enum Accepted {
    /// A connection.
    Connection(Box<Connection>),
    /// The broker is gone, and all its connections with it.
    Lost,
    /// There is a broker again.
    Attached {
        /// Which: no two are alike.
        instance: u64,
    },
}

impl Acceptor {
    /// Attaches to the broker at `path`, with this name for its log. Returns which broker that is, too.
    ///
    /// # Errors
    /// There is none, or it refuses.
    pub async fn attach(path: PathBuf, name: &str) -> Result<(Self, u64), CallError> {
        let mut acceptor = Self { path, name: name.to_owned(), attached: None };
        let instance = acceptor.again().await?;
        Ok((acceptor, instance))
    }

    async fn again(&mut self) -> Result<u64, CallError> {
        let (broker, incoming) = connect(&self.path, &self.name).await?;
        broker.listen(true).await?;
        let instance = broker.welcome().instance;
        self.attached = Some((broker, incoming));
        Ok(instance)
    }

    /// What comes next. No connection is lost if this is dropped.
    pub async fn next(&mut self) -> Accepted {
        if let Some((_, incoming)) = &mut self.attached {
            return match incoming.next().await {
                Some(connection) => Accepted::Connection(Box::new(connection)),
                None => {
                    self.attached = None;
                    Accepted::Lost
                }
            };
        }
        loop {
            match self.again().await {
                Ok(instance) => return Accepted::Attached { instance },
                Err(_) => sleep(AGAIN_AFTER).await,
            }
        }
    }

    /// Takes no other connection, and keeps those that are there: they end with their owner. Returns when the broker is gone.
    pub async fn refuse(self) {
        let Some((broker, mut incoming)) = self.attached else { return };
        // One that does not hear it is gone.
        let _ = broker.listen(false).await;
        while incoming.next().await.is_some() {}
    }
}
