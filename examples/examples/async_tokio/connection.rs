//! What a program uses: `send`, `recv`, `close`.

use std::error::Error;
use std::time::Duration;

use bytes::Bytes;
use smbd_core::error::{CloseReason, ConnectError, SendError};
use smbd_core::{Config, Params, Role};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::driver::Driver;

/// Anything that goes wrong, where nobody has to tell one from the other.
pub(crate) type Failure = Box<dyn Error + Send + Sync>;

/// Received messages ready for the program; more wait in the driver.
const MESSAGES_WAITING: usize = 1;
/// Commands that may wait for the driver.
const COMMANDS_WAITING: usize = 16;
/// How long a close waits for messages that are not sent yet.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// What the driver is asked to do.
#[derive(Debug)]
pub(super) enum Command {
    Send(Outgoing),
    Close { within: Duration },
}

/// A message, and who waits for it to be sent.
#[derive(Debug)]
pub(super) struct Outgoing {
    pub(super) payload: Bytes,
    pub(super) result: oneshot::Sender<Result<(), NotSent>>,
}

/// A message was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotSent {
    /// It cannot be: it is empty, or too long for the peer.
    Refused(SendError),
    /// The connection ended first.
    Ended,
}

impl std::fmt::Display for NotSent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused(error) => error.fmt(f),
            Self::Ended => f.write_str("the connection ended first"),
        }
    }
}

impl Error for NotSent {}

/// An established connection. Dropped without [`close`](Self::close), it ends at once.
#[derive(Debug)]
pub(crate) struct Connection {
    sender: Sender,
    messages: mpsc::Receiver<Bytes>,
    driver: JoinHandle<Result<CloseReason, Failure>>,
}

/// The sending half; may be cloned. The connection ends with its `Connection`, whoever still has one of these.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    commands: mpsc::Sender<Command>,
}

impl Connection {
    /// Negotiates as initiator over a stream that is connected already.
    pub(crate) async fn connect<S>(stream: S) -> Result<Self, Failure>
    where
        S: AsyncRead + AsyncWrite + Send + 'static,
    {
        Self::open(Role::Initiator, stream).await
    }

    /// Negotiates as acceptor.
    pub(crate) async fn accept<S>(stream: S) -> Result<Self, Failure>
    where
        S: AsyncRead + AsyncWrite + Send + 'static,
    {
        Self::open(Role::Acceptor, stream).await
    }

    async fn open<S>(role: Role, stream: S) -> Result<Self, Failure>
    where
        S: AsyncRead + AsyncWrite + Send + 'static,
    {
        // A byte stream has no remote memory.
        let params = Params { read_depth: 0, max_read_write_size: 0, ..Params::windows() };
        let config = Config::try_from(params)?;
        let (commands, to_do) = mpsc::channel(COMMANDS_WAITING);
        let (received, messages) = mpsc::channel(MESSAGES_WAITING);
        let (established, establishing) = oneshot::channel::<Result<(), ConnectError>>();
        let driver = Driver::new(role, &config, stream, to_do, received, established);
        // If this future is dropped while it waits, so are `commands`, and the driver ends.
        let driver = tokio::spawn(driver.run());
        match establishing.await {
            Ok(result) => result?,
            // The driver failed before it could tell.
            Err(_) => return Err(driver.await?.err().unwrap_or("the driver ended".into())),
        }
        Ok(Self { sender: Sender { commands }, messages, driver })
    }

    /// As [`Sender::send`].
    pub(crate) async fn send(&self, payload: Bytes) -> Result<(), NotSent> {
        self.sender.send(payload).await
    }

    /// A handle that can send while this one receives.
    pub(crate) fn sender(&self) -> Sender {
        self.sender.clone()
    }

    /// The next message of the peer; `None` when the connection is over. Dropping the future loses nothing.
    pub(crate) async fn recv(&mut self) -> Option<Bytes> {
        self.messages.recv().await
    }

    /// Sends what is queued, ends the connection, and tells why it ended if it had ended before. Messages not received
    /// are dropped. Dropping the future does not stop the closing.
    pub(crate) async fn close(self) -> Result<CloseReason, Failure> {
        let Self { sender, messages, driver } = self;
        drop(messages);
        // An error means that the driver is gone already.
        let _ = sender.commands.send(Command::Close { within: CLOSE_TIMEOUT }).await;
        driver.await?
    }
}

impl Sender {
    /// Returns when the message has left, which does not mean that it has arrived. If the future is dropped before, the
    /// message is sent as a whole or not at all.
    ///
    /// Waits for credits, which come as messages of the peer are read. SMB Direct has no other brake: a protocol above
    /// it limits what is under way, as SMB2 does with credits of its own, or one side sends while nobody reads, and is
    /// ended for want of credits.
    pub(crate) async fn send(&self, payload: Bytes) -> Result<(), NotSent> {
        let (result, sent) = oneshot::channel();
        let command = Command::Send(Outgoing { payload, result });
        self.commands.send(command).await.map_err(|_| NotSent::Ended)?;
        sent.await.unwrap_or(Err(NotSent::Ended))
    }
}
