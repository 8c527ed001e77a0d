//! Files of SMB servers, over SMB Direct or TCP, in user space.
//!
//! The program `smbd-cp` is what most people want; its README says how to use it. This library is what it is made of:
//!
//! - A [`Transport`](smbd_link::transport::Transport) carries messages and data: [`Tcp`] over any stream, SMB Direct over RDMA devices
//!   (`Connector`, feature `verbs`), or a transport of your own.
//! - [`Remote`], [`Share`] and [`File`]: handles of a connection, of a share and of a file, with async calls. A future, which
//!   [`Remote::over`] returns and the caller spawns, drives the connection.
//! - [`drive`]: what drives a connection, for operations that handles do not have.
//! - [`copy`]: files copied with several pieces under way, resumed, and compared.
//!
//! The protocol is that of [`smbd_smb2::client`], which does no I/O. Data go by RDMA where server and session allow it: in sessions that are
//! neither signed nor encrypted, and in others if the server has RDMA transforms, with which data are signed or encrypted as well. They
//! are copied once, between memory that the device knows and what the calls take and return; not at all with a [`Buffer`], in sessions that
//! are neither signed nor encrypted. What is encrypted is never there as plain
//! text, and what was not checked is never returned.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use smbd_client::{Remote, Settings, Tcp};
//! use smbd_smb2::security::Credentials;
//!
//! let stream = tokio::net::TcpStream::connect("10.9.0.1:445").await?;
//! stream.set_nodelay(true)?;
//! let (remote, driver) = Remote::over(Tcp::over(stream), &Settings::new("10.9.0.1"))?;
//! let driver = tokio::spawn(driver);
//!
//! let user = Credentials::of_password("tester", "correct horse");
//! let share = remote.login(user).await?.connect("share").await?;
//! let file = share.open("docs/a.txt").await?;
//! println!("{} bytes, {}", file.size(), share.way());
//! let text = file.read_at(0, 100).await?;
//! file.close().await?;
//!
//! // Without handles the connection is closed, and the driver ends.
//! drop((share, remote));
//! driver.await?;
//! # drop(text);
//! # Ok(())
//! # }
//! ```

#[cfg(feature = "verbs")]
mod connector;
pub mod copy;
pub mod drive;
mod error;
mod remote;

#[cfg(feature = "verbs")]
pub use connector::{Connector, DEFAULT_PORTS, Rdma};
pub use error::{Error, Lost};
pub use remote::{
    Buffer, CHANNELS_MAX, Channel, Entry, File, PIECE_MAX, Pending, Remote, Session, SessionKey, Settings,
    Share, Stat, Surroundings, Way,
};
pub use smbd_link::tcp::Tcp;
