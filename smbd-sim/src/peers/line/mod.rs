//! The common part of all models, independent of their rules for credits: receives, messages, negotiation, fragments.
//!
//! This module uses no device. It returns an [`Order`] for each operation, which the caller carries out.

mod message;
mod negotiation;

use std::collections::VecDeque;
use std::time::Duration;

use smbd_core::Instant;

use crate::Side;
use message::Assembly;
pub(super) use message::{Arrived, Segment};

/// Bytes of the receive for a negotiation message (3.1.4.1, 3.1.7.2).
const NEGOTIATION_RECEIVE: u32 = 512;

/// What can be chosen for a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelParams {
    /// Connection.ReceiveCreditMax.
    pub receive_credit_max: u16,
    /// Connection.SendCreditTarget.
    pub send_credit_target: u16,
    /// Connection.MaxSendSize in bytes.
    pub max_send_size: u32,
    /// Connection.MaxReceiveSize in bytes.
    pub max_receive_size: u32,
    /// Connection.MaxFragmentedRecvSize in bytes.
    pub max_fragmented_recv_size: u32,
    /// Connection.KeepaliveInterval.
    pub keepalive_interval: Duration,
    /// How many receives it posts where the text leaves it a choice.
    pub posting: Posting,
    /// How long its upper layer takes to read a message that is complete.
    pub reading: Duration,
    /// How long work that its kernel puts off waits for a thread.
    pub put_off: Duration,
    /// Of two threads that wait for a send credit, that one goes first which sends an empty message.
    pub work_first: bool,
}

/// How many receives are posted at a time: 3.1.5.9 allows one to min(ReceiveCreditTarget, ReceiveCreditMax).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Posting {
    /// One.
    One,
    /// What is missing.
    Missing,
    /// As many as the text allows, which makes almost twice the maximum (CR-6).
    Most,
}

/// Something for the device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Connect.
    Connect,
    /// Accept.
    Accept,
    /// Post a receive.
    PostRecv {
        /// The receive buffer.
        slot: u16,
        /// Bytes it takes.
        len: u32,
    },
    /// Send a message.
    Send(Vec<u8>),
    /// End the connection.
    Disconnect,
}

/// Where a model is with its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Nothing was heard (Connection.Role is ACTIVE or PASSIVE).
    Negotiating,
    /// ESTABLISHED.
    Established,
    /// Over, and why.
    Over(&'static str),
}

/// What the negotiation settled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sizes {
    max_send_size: u32,
    max_receive_size: u32,
}

/// One side of a connection, but for its credits and timers.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) side: Side,
    pub(super) params: ModelParams,
    pub(super) now: Instant,
    pub(super) phase: Phase,
    sizes: Sizes,
    /// Receive buffers that are neither posted nor held.
    free: Vec<u16>,
    orders: VecDeque<Order>,
    assembly: Assembly,
    /// Data Transfer messages sent.
    pub(super) sent: u64,
}

impl Line {
    /// With so many receive buffers.
    pub(super) fn new(side: Side, params: ModelParams, buffers: u16) -> Self {
        let sizes = Sizes { max_send_size: params.max_send_size, max_receive_size: params.max_receive_size };
        Self {
            side,
            params,
            now: Instant::ORIGIN,
            phase: Phase::Negotiating,
            sizes,
            free: (0..buffers).rev().collect(),
            orders: VecDeque::new(),
            assembly: Assembly::default(),
            sent: 0,
        }
    }

    /// Connection.MaxReceiveSize, as it was settled.
    pub(super) const fn max_receive_size(&self) -> u32 {
        self.sizes.max_receive_size
    }

    /// What the device is to do next.
    pub(super) fn next_order(&mut self) -> Option<Order> {
        self.orders.pop_front()
    }

    /// Posts up to `count` receives of MaxReceiveSize. How many there were buffers for.
    pub(super) fn post_receives(&mut self, count: u32) -> u32 {
        let len = self.sizes.max_receive_size;
        (0..count).take_while(|_| self.post_receive(len)).fold(0, |posted, _| posted + 1)
    }

    fn post_receive(&mut self, len: u32) -> bool {
        let slot = self.free.pop();
        self.orders.extend(slot.map(|slot| Order::PostRecv { slot, len }));
        slot.is_some()
    }

    /// A receive buffer may be posted again.
    pub(super) fn give_back(&mut self, slot: u16) {
        self.free.push(slot);
    }

    /// Ends the connection.
    pub(super) fn end(&mut self, why: &'static str) {
        if !matches!(self.phase, Phase::Over(_)) {
            self.phase = Phase::Over(why);
            self.orders.push_back(Order::Disconnect);
        }
    }

    /// The device says that the connection is over.
    pub(super) fn on_lost(&mut self) {
        self.end("its peer ended the connection");
    }
}
