//! What goes to the broker, and what comes from it.

use std::task::{Context, Poll};

use smbd_core::error::{Aborted, CommandError, OpError, RdmaError};
use smbd_link::Failure;
use smbd_link::link::Event;
use smbd_link::transport::Memory;

use super::copy::{self, CopyError};
use super::error::CarriedError;
use super::{Carried, Closing, Moved, Order, Transfer};
use crate::client::{self, Lost, SlotFile};
use crate::owner::{SendError, TransferError};
use crate::socket::PacketSocket;
use crate::wire::{self, Area, Direction};

/// The time in which messages leave that the broker had before the connection ends because of a fault, in milliseconds.
const FAULT_WITHIN: u32 = 1000;

impl From<CopyError> for CarriedError {
    fn from(error: CopyError) -> Self {
        match error {
            CopyError::Slot(kind) => Self::Slot(kind),
            CopyError::Range(outside) => Self::Range(outside),
        }
    }
}

impl<S, M, N> Carried<S, M, N>
where
    S: PacketSocket<Descriptor: SlotFile>,
{
    /// An operation is not carried out: the end of the connection says why.
    pub(super) fn refuse(&mut self, name: N) {
        let result = Err(RdmaError::Command(CommandError::Closing).into());
        self.events.push_back(Event::RdmaDone { name, result });
    }

    pub(super) fn refuse_all(&mut self) {
        self.waiting = 0;
        while let Some(order) = self.orders.pop_front() {
            if let Order::Rdma(Transfer { name, .. }) = order {
                self.refuse(name);
            }
        }
    }

    /// A fault of this side: the connection ends.
    fn fail(&mut self, error: CarriedError) {
        self.refuse_all();
        self.ending.get_or_insert(Err(Failure::Backend(error)));
        if self.closing != Closing::Told {
            self.closing = Closing::Wanted(FAULT_WITHIN);
        }
    }
}

impl<S, M, N> Carried<S, M, N>
where
    S: PacketSocket<Descriptor: SlotFile>,
    M: Memory + Clone,
{
    /// Gives the broker what waits, and takes what it tells.
    pub(super) fn drive(&mut self, cx: &mut Context<'_>) {
        while !self.is_over {
            self.give(cx);
            let Some(connection) = &mut self.connection else { return };
            match connection.poll_event(cx, self.inbox.wants()) {
                Poll::Ready(Ok(event)) => self.on(event),
                Poll::Ready(Err(lost)) => self.end(lost),
                Poll::Pending => return,
            }
        }
    }

    /// Gives the broker what waits, as far as it has room.
    fn give(&mut self, cx: &Context<'_>) {
        while let Some(connection) = &mut self.connection
            && let Some(order) = self.orders.pop_front()
        {
            let has_room = match &order {
                Order::Send { .. } => connection.has_room(),
                Order::Rdma(_) => connection.has_transfer(),
            };
            if !has_room {
                return self.orders.push_front(order);
            }
            let given = match order {
                Order::Send { message, invalidate } => {
                    self.waiting = self.waiting.saturating_sub(message.len());
                    connection.send(&message, invalidate).map_err(CarriedError::from)
                }
                Order::Rdma(transfer) => match connection.slots().poll_take(cx, transfer.len.into()) {
                    Poll::Pending => return self.orders.push_front(Order::Rdma(transfer)),
                    Poll::Ready(Ok(areas)) => self.start(transfer, areas),
                    Poll::Ready(Err(error)) => {
                        self.refuse(transfer.name);
                        Err(error.into())
                    }
                },
            };
            match given {
                Ok(()) => {}
                // The end was read, and is told after all else that was.
                Err(CarriedError::Send(SendError::Lost) | CarriedError::Transfer(TransferError::Lost)) => {}
                Err(error) => self.fail(error),
            }
        }
        if let (Closing::Wanted(within), Some(connection)) = (self.closing, &mut self.connection) {
            self.closing = Closing::Told;
            connection.disconnect(within);
        }
    }

    /// Starts a transfer over these slots.
    fn start(&mut self, transfer: Transfer<M, N>, areas: Vec<Area>) -> Result<(), CarriedError> {
        let Transfer { name, direction, memory, remote, offset, .. } = transfer;
        let started = self.connection.as_mut().map_or(Err(TransferError::Lost.into()), |connection| {
            let slots = connection.slots();
            if direction == Direction::Write {
                copy::fill(slots, &areas, &memory).inspect_err(|_| slots.give(&areas))?;
            }
            let transfer = wire::Transfer { direction, offset, remote: remote.to_vec(), areas };
            connection.start_or_give(transfer).map_err(CarriedError::from)
        });
        match started {
            Ok(tag) => _ = self.transfers.insert(tag, Moved { name, memory, direction }),
            Err(_) => self.refuse(name),
        }
        started.map(drop)
    }

    fn on(&mut self, event: client::Event) {
        match event {
            client::Event::Message { age, bytes } => self.inbox.push(age, bytes),
            client::Event::Sent => {}
            client::Event::Done { tag, areas, is_success } => {
                let Some(connection) = &self.connection else { return };
                let slots = connection.slots();
                if let Some(Moved { name, memory, direction }) = self.transfers.remove(&tag) {
                    let result = match direction {
                        _ if !is_success => Err(CarriedError::NotMoved),
                        Direction::Read => copy::read(slots, &areas, &memory).map_err(CarriedError::from),
                        Direction::Write => Ok(()),
                    };
                    self.events.push_back(Event::RdmaDone { name, result: result.map_err(Failure::Backend) });
                }
                slots.give(&areas);
            }
        }
    }

    /// Nothing more comes from the broker.
    fn end(&mut self, lost: Lost) {
        self.is_over = true;
        self.refuse_all();
        // A broker that is gone has told no result of these.
        while let Some((_, Moved { name, .. })) = self.transfers.pop_first() {
            self.events.push_back(Event::RdmaDone { name, result: Err(OpError::Aborted(Aborted).into()) });
        }
        if let Some(connection) = &mut self.connection {
            connection.drain_messages().for_each(|(age, bytes)| self.inbox.push(age, bytes));
        }
        self.ending.get_or_insert(Err(Failure::Backend(lost.into())));
    }
}
