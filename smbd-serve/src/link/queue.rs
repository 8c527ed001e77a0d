//! Orders that wait until their connection takes them.

use std::collections::VecDeque;

use smbd_core::Instant;

use super::Order;

/// Orders in their order, with the time at which each came.
#[derive(Debug)]
pub(super) struct Queue {
    orders: VecDeque<(Instant, Order)>,
    /// Bytes of memory of all of them.
    held: usize,
}

impl Queue {
    /// No orders.
    pub(super) const fn new() -> Self {
        Self { orders: VecDeque::new(), held: 0 }
    }

    /// Bytes of memory of all orders.
    pub(super) const fn held(&self) -> usize {
        self.held
    }

    /// Adds an order, which comes at `now`.
    pub(super) fn push(&mut self, now: Instant, order: Order) {
        self.held = self.held.saturating_add(order.held());
        self.orders.push_back((now, order));
    }

    /// The first order.
    pub(super) fn first(&self) -> Option<&Order> {
        self.orders.front().map(|(_, order)| order)
    }

    /// Takes the first order, with the time at which it came.
    pub(super) fn pop(&mut self) -> Option<(Instant, Order)> {
        let (came, order) = self.orders.pop_front()?;
        self.held = self.held.saturating_sub(order.held());
        Some((came, order))
    }

    /// When the first of the transfers came, if there is one.
    pub(super) fn oldest_transfer(&self) -> Option<Instant> {
        self.orders.iter().find(|(_, order)| order.is_transfer()).map(|(came, _)| *came)
    }
}
