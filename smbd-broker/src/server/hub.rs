//! What all tasks share: the broker, and what it wants done by each of them.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};

use bytes::Bytes;
use smbd_core::{BufferDescriptorV1, Config};

use super::system::{DescriptorOf, System};
use crate::broker::{Action, Attachment, Broker, ConnectionId, OwnerId, Peer, Quotas, TransferId, answer};
use crate::wire::{Direction, Invalidate, Packet};

/// Packets that may wait for an owner. One that reads nothing gets no more, but loses its socket.
const WAITING_MAX: usize = 256;

/// A broker, and what waits for its tasks. Clones are the same hub.
pub struct Hub<S: System>(Arc<Shared<S>>);

struct Shared<S: System> {
    system: S,
    state: Mutex<State<S>>,
}

struct State<S: System> {
    broker: Broker,
    owners: BTreeMap<OwnerId, Orders<OwnerOrder<S>>>,
    connections: BTreeMap<ConnectionId, Orders<Order<S>>>,
    /// The slots of each owner.
    memory: BTreeMap<OwnerId, Vec<S::Memory>>,
    /// What is given to an owner for slots that were just made.
    fresh: BTreeMap<(OwnerId, u16), DescriptorOf<S>>,
    /// The connection of each socket that an owner has.
    cookies: BTreeMap<u64, ConnectionId>,
}

/// What waits for a task.
struct Orders<T> {
    queue: VecDeque<T>,
    waker: Option<Waker>,
}

/// For the task of an owner.
pub(super) enum OwnerOrder<S: System> {
    Send(Packet, Option<DescriptorOf<S>>),
    Close,
}

/// For the task of a connection.
pub(super) enum Order<S: System> {
    Socket(S::Socket),
    ToSocket(Packet),
    CloseSocket,
    Drain,
    Transport(TransportOrder<S::Memory>),
    Disconnect { within: u32 },
}

/// For the transport, in this order.
pub(super) enum TransportOrder<M> {
    Send { message: Bytes, invalidate: Invalidate },
    Transfer(Transfer<M>),
}

pub(super) struct Transfer<M> {
    pub(super) id: TransferId,
    pub(super) direction: Direction,
    /// Slots, and how many bytes of each.
    pub(super) pieces: Vec<(M, u32)>,
    pub(super) remote: Arc<[BufferDescriptorV1]>,
    pub(super) offset: u64,
}

impl<S: System> Hub<S> {
    /// One for this broker.
    #[must_use]
    pub fn new(broker: Broker, system: S) -> Self {
        let state = State {
            broker,
            owners: BTreeMap::new(),
            connections: BTreeMap::new(),
            memory: BTreeMap::new(),
            fresh: BTreeMap::new(),
            cookies: BTreeMap::new(),
        };
        Self(Arc::new(Shared { system, state: Mutex::new(state) }))
    }

    /// The system it runs on.
    #[must_use]
    pub fn system(&self) -> &S {
        &self.0.system
    }

    /// How a connection is configured that comes now; nothing if nobody would take it.
    #[must_use]
    pub fn config(&self) -> Option<Config> {
        let state = self.lock();
        state.broker.takes_connections().then(|| state.broker.config().clone())
    }

    /// Looks at the broker.
    pub fn look<T>(&self, look: impl FnOnce(&Broker) -> T) -> T {
        look(&self.lock().broker)
    }

    /// Other quotas, from now on. What is beyond them stays.
    pub fn set_quotas(&self, quotas: Quotas) {
        self.lock().broker.set_quotas(quotas);
    }

    /// Tells the broker something, and hands out what it wants done.
    pub(super) fn tell<T>(&self, tell: impl FnOnce(&mut Broker) -> T) -> T {
        let mut state = self.lock();
        let told = tell(&mut state.broker);
        state.carry_out(&self.0.system);
        told
    }

    /// A process has connected.
    pub(super) fn owner_joined(&self) -> Option<OwnerId> {
        let mut state = self.lock();
        let owner = state.broker.owner_joined()?;
        state.owners.insert(owner, Orders::new());
        Some(owner)
    }

    /// Whose sockets came with a packet.
    pub(super) fn connections_of(&self, descriptors: &[DescriptorOf<S>]) -> Vec<Option<ConnectionId>> {
        let state = self.lock();
        let of = |descriptor| {
            let cookie = self.0.system.cookie(descriptor)?;
            state.cookies.get(&cookie).copied()
        };
        descriptors.iter().map(of).collect()
    }

    /// A connection is established.
    pub(super) fn connected(&self, peer: Peer) -> Option<ConnectionId> {
        let now = self.0.system.now();
        let mut state = self.lock();
        let connection = state.broker.connected(peer, now)?;
        state.connections.insert(connection, Orders::new());
        Some(connection)
    }

    /// The next order for an owner's task, which is woken when there is another. One that cannot send gets no other than to close.
    pub(super) fn next_of_owner(
        &self,
        owner: OwnerId,
        can_send: bool,
        cx: &Context<'_>,
    ) -> Option<OwnerOrder<S>> {
        let mut state = self.lock();
        let orders = state.owners.get_mut(&owner)?;
        if !can_send && !matches!(orders.queue.front(), Some(OwnerOrder::Close)) {
            orders.waker = Some(cx.waker().clone());
            return None;
        }
        orders.take(cx)
    }

    /// The next order for a connection's task, which is woken when there is another.
    pub(super) fn next_of(&self, connection: ConnectionId, cx: &Context<'_>) -> Option<Order<S>> {
        self.lock().connections.get_mut(&connection)?.take(cx)
    }

    /// The task of an owner is over.
    pub(super) fn forget_owner(&self, owner: OwnerId) {
        self.lock().owners.remove(&owner);
    }

    /// The task of a connection is over.
    pub(super) fn forget(&self, connection: ConnectionId) {
        let mut state = self.lock();
        state.connections.remove(&connection);
        state.cookies.retain(|_, of| *of != connection);
    }

    fn lock(&self) -> MutexGuard<'_, State<S>> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: System> State<S> {
    fn carry_out(&mut self, system: &S) {
        while let Some(action) = self.broker.poll() {
            match action {
                Action::ToOwner { owner, packet, attachment } => {
                    self.give_owner(system, owner, packet, attachment);
                }
                Action::CloseOwner(owner) => self.order_owner(owner, OwnerOrder::Close),
                Action::MakeMemory { owner, first, count } => self.make(system, owner, first, count),
                Action::FreeMemory(owner) => {
                    self.memory.remove(&owner);
                    self.fresh.retain(|(of, _), _| *of != owner);
                }
                Action::ToSocket { connection, packet } => self.order(connection, Order::ToSocket(packet)),
                Action::CloseSocket(connection) => {
                    self.cookies.retain(|_, of| *of != connection);
                    self.order(connection, Order::CloseSocket);
                }
                Action::DrainSocket(connection) => self.order(connection, Order::Drain),
                Action::Negotiate { connection, request } => {
                    let own = self.broker.negotiation().cloned();
                    let response = own.zip(system.salt());
                    let response =
                        response.and_then(|(own, salt)| answer(&own, &request, &salt, system.system_time()));
                    self.broker.negotiated(connection, response);
                }
                Action::Send { connection, message, invalidate } => {
                    self.order(connection, Order::Transport(TransportOrder::Send { message, invalidate }));
                }
                Action::Transfer { connection, id, owner, direction, areas, remote, offset } => {
                    let slots = self.memory.get(&owner);
                    let piece = |area: &crate::wire::Area| {
                        let memory = slots?.get(usize::from(area.slot))?.clone();
                        Some((memory, area.len))
                    };
                    // The broker names slots that were made.
                    let pieces = areas.iter().filter_map(piece).collect();
                    let transfer = Transfer { id, direction, pieces, remote, offset };
                    self.order(connection, Order::Transport(TransportOrder::Transfer(transfer)));
                }
                Action::Disconnect { connection, within } => {
                    self.order(connection, Order::Disconnect { within });
                }
                Action::Log(log) => system.log(log),
            }
        }
    }

    fn give_owner(&mut self, system: &S, owner: OwnerId, packet: Packet, attachment: Option<Attachment>) {
        let descriptor = match attachment {
            None => None,
            Some(Attachment::Memory { owner, first }) => self.fresh.remove(&(owner, first)),
            Some(Attachment::Socket(connection)) => match system.pair() {
                Ok(pair) => {
                    self.cookies.insert(pair.cookie, connection);
                    self.order(connection, Order::Socket(pair.own));
                    Some(pair.theirs)
                }
                Err(_) => None,
            },
        };
        let waiting = self.owners.get(&owner).map_or(0, |orders| orders.queue.len());
        // What it is told would mean nothing without its file descriptor.
        if (attachment.is_some() && descriptor.is_none()) || waiting >= WAITING_MAX {
            if let Some(orders) = self.owners.get_mut(&owner) {
                orders.queue.clear();
            }
            return self.order_owner(owner, OwnerOrder::Close);
        }
        self.order_owner(owner, OwnerOrder::Send(packet, descriptor));
    }

    fn make(&mut self, system: &S, owner: OwnerId, first: u16, count: u16) {
        let slot_len = self.broker.limits().slot_len;
        let made = system.memory(count, slot_len);
        let is_made = made.is_ok();
        if let Ok((descriptor, slots)) = made {
            self.memory.entry(owner).or_default().extend(slots);
            self.fresh.insert((owner, first), descriptor);
        }
        self.broker.memory_made(owner, is_made);
    }

    fn order(&mut self, connection: ConnectionId, order: Order<S>) {
        if let Some(orders) = self.connections.get_mut(&connection) {
            orders.push(order);
        }
    }

    fn order_owner(&mut self, owner: OwnerId, order: OwnerOrder<S>) {
        if let Some(orders) = self.owners.get_mut(&owner) {
            orders.push(order);
        }
    }
}

impl<T> Orders<T> {
    const fn new() -> Self {
        Self { queue: VecDeque::new(), waker: None }
    }

    fn push(&mut self, order: T) {
        self.queue.push_back(order);
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    fn take(&mut self, cx: &Context<'_>) -> Option<T> {
        let order = self.queue.pop_front();
        if order.is_none() {
            self.waker = Some(cx.waker().clone());
        }
        order
    }
}

impl<S: System> Clone for Hub<S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<S: System> fmt::Debug for Hub<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hub").finish_non_exhaustive()
    }
}
