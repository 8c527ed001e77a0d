//! An owner that waits in calls, without a runtime.
//!
//! [`Broker::connect`] makes one. Its connections are those of [`client`](crate::client), over sockets without a reactor; calls that wait have
//! a timeout. Whoever has a loop of his own waits for the file descriptors ([`AsFd`](std::os::fd::AsFd) of the [`Broker`],
//! [`as_socket`](Connection::as_socket) of a [`Connection`]) and calls with a timeout of zero until there is nothing more.
//!
//! ```no_run
//! # fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use std::path::Path;
//! use std::time::Duration;
//!
//! use smbd_broker::blocking::Broker;
//! use smbd_broker::client::Event;
//!
//! let mut broker = Broker::connect(Path::new("/run/smbd-broker/socket"), "example")?;
//! // What no rule matches comes here.
//! broker.listen(true)?;
//! while let Some(mut connection) = broker.next(None)? {
//!     while let Some(event) = connection.event(Some(Duration::from_secs(60)), true)? {
//!         if let Event::Message { bytes, .. } = event {
//!             println!("{}: {} bytes", connection.newcomer().peer, bytes.len());
//!         }
//!     }
//! }
//! # Ok(())
//! # }
//! ```

mod broker;
mod connection;

pub use broker::Broker;
pub use connection::Connection;
