//! What the driver of a broker needs from the system it runs on.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::time::Duration;

use smbd_core::Instant;

use crate::broker::Log;
use crate::socket::PacketSocket;

/// A future that is kept.
pub type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// What goes with a packet.
pub type DescriptorOf<S> = <<S as System>::Socket as PacketSocket>::Descriptor;

/// A socket for a connection.
#[derive(Debug)]
pub struct Pair<K: PacketSocket> {
    /// The broker's end.
    pub own: K,
    /// The owner's end, which is given away.
    pub theirs: K::Descriptor,
    /// By which the owner's end is known again.
    pub cookie: u64,
}

/// Sockets, memory, time and chance.
pub trait System: Send + Sync + 'static {
    /// Sockets of owners and connections.
    type Socket: PacketSocket;
    /// What a device can access: a slot.
    type Memory: Clone + Send + Sync + 'static;

    /// A socket for a connection.
    ///
    /// # Errors
    /// There are no file descriptors left.
    fn pair(&self) -> io::Result<Pair<Self::Socket>>;

    /// The cookie of a socket that came with a packet.
    fn cookie(&self, descriptor: &DescriptorOf<Self>) -> Option<u64>;

    /// New slots, and what an owner maps them with.
    ///
    /// # Errors
    /// There is not enough memory.
    fn memory(&self, slots: u16, slot_len: u32) -> io::Result<(DescriptorOf<Self>, Vec<Self::Memory>)>;

    /// The time on the clock of the connections.
    fn now(&self) -> Instant;

    /// Waits for so long, from now on.
    fn sleep(&self, time: Duration) -> Boxed<()>;

    /// Random bytes. Nothing if the system has none.
    fn salt(&self) -> Option<[u8; 32]>;

    /// The time of the day, as a FILETIME.
    fn system_time(&self) -> u64;

    /// For people.
    fn log(&self, log: Log);
}
