//! The upper layer of one side: client or server.

use std::collections::VecDeque;

use smbd_core::endpoint::Message;
use smbd_core::{Event, Instant};

use super::{Behaviour, Client, Common, QueuedMessage, Server, Task};
use crate::host::{Context, Upper};
use crate::memory::Buffers;

/// The upper layer of one side.
#[derive(Debug)]
pub enum WorkloadUpper {
    /// The one that asks.
    Client(Client),
    /// The one that answers.
    Server(Server),
}

impl WorkloadUpper {
    /// The connection is drained; everything that was under way is to be done again. `lost`: messages of this side that did not
    /// arrive.
    pub fn renew(&mut self, lost: VecDeque<QueuedMessage>, buffers: &mut Buffers) {
        match self {
            Self::Client(client) => client.renew(lost, buffers),
            Self::Server(server) => server.renew(lost, buffers),
        }
    }

    /// Other tasks, the same for both sides, instead of those that are all done.
    pub fn refill(&mut self, tasks: Vec<Task>) {
        match self {
            Self::Client(client) => client.refill(tasks),
            Self::Server(server) => server.refill(tasks),
        }
    }

    /// Begins what may be begun.
    pub fn go_on(&mut self, context: &mut Context<'_>) {
        if let Self::Client(client) = self {
            client.pump(context);
        }
    }

    /// Changes how it behaves.
    pub fn behave(&mut self, change: impl FnOnce(Behaviour) -> Behaviour) {
        let behaviour = &mut self.common_mut().behaviour;
        *behaviour = change(*behaviour);
    }

    const fn common(&self) -> &Common {
        match self {
            Self::Client(client) => &client.common,
            Self::Server(server) => &server.common,
        }
    }

    const fn common_mut(&mut self) -> &mut Common {
        match self {
            Self::Client(client) => &mut client.common,
            Self::Server(server) => &mut server.common,
        }
    }

    /// Gives back all fragments.
    pub fn release_all(&mut self, context: &mut Context<'_>) {
        self.common_mut().release_all(context);
    }

    /// Keeps all fragments it has.
    pub fn keep(&mut self, until: Instant) {
        self.common_mut().keep(until);
    }

    /// Fragments held.
    #[must_use]
    pub fn held(&self) -> usize {
        self.common().held.len()
    }

    /// Nothing is left to do, as far as this side knows.
    #[must_use]
    pub fn is_done(&self) -> bool {
        let common = self.common();
        let rest = match self {
            Self::Client(client) => client.is_done(),
            Self::Server(server) => server.is_done(),
        };
        rest && common.notices.is_empty()
            && common.waiting.is_empty()
            && common.workload.borrow().under_way(common.side) == 0
    }

    /// What is left to do.
    #[must_use]
    pub fn left(&self) -> String {
        let common = self.common();
        let rest = match self {
            Self::Client(client) => client.left(),
            Self::Server(server) => server.left(),
        };
        let under_way = common.workload.borrow().under_way(common.side);
        format!(
            "{rest}, {} notices, {} messages wait for room, {under_way} are under way, {} fragments held",
            common.notices.len(),
            common.waiting.len(),
            common.held.len()
        )
    }
}

impl Upper for WorkloadUpper {
    fn event(&mut self, event: Event, context: &mut Context<'_>) {
        match self {
            Self::Client(client) => client.event(event, context),
            Self::Server(server) => server.event(event, context),
        }
    }

    fn message(&mut self, message: Message, context: &mut Context<'_>) {
        match self {
            Self::Client(client) => client.message(message, context),
            Self::Server(server) => server.message(message, context),
        }
    }

    fn wake(&mut self, context: &mut Context<'_>) {
        match self {
            Self::Client(client) => client.wake(context),
            Self::Server(server) => server.wake(context),
        }
    }
}
