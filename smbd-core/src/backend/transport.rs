use crate::error::{ConnectReason, DisconnectReason};
use crate::{Input, Limits};

/// What a transport connection says about itself, reported as the contract has it: one answer, one end, the end after
/// everything the device has completed, and nothing after the end.
#[derive(Clone, Copy, Debug, Default)]
pub struct TransportReports {
    connected: Option<Limits>,
    was_connected: bool,
    end: Option<TransportEnd>,
    is_over: bool,
}

#[derive(Clone, Copy, Debug)]
enum TransportEnd {
    ConnectFailed(ConnectReason),
    Disconnected(DisconnectReason),
}

impl TransportEnd {
    const fn input(self) -> Input<'static> {
        match self {
            Self::ConnectFailed(reason) => Input::ConnectFailed { reason },
            Self::Disconnected(reason) => Input::Disconnected { reason },
        }
    }
}

impl TransportReports {
    /// The connection is up. Dropped if this is known, or too late.
    pub const fn connected(&mut self, limits: Limits) {
        if !self.was_connected && !self.is_over {
            self.connected = Some(limits);
            self.was_connected = true;
        }
    }

    /// The connection did not come up. Dropped if the end is known; if it had come up, it is lost, for an unknown reason.
    pub const fn connect_failed(&mut self, reason: ConnectReason) {
        if self.was_connected {
            self.end(TransportEnd::Disconnected(DisconnectReason::Unknown));
        } else {
            self.end(TransportEnd::ConnectFailed(reason));
        }
    }

    /// The connection is gone: lost, ended by the peer, or by [`BackendOp::Disconnect`](super::BackendOp::Disconnect). Dropped if
    /// the end is known: the first report wins, with its reason.
    pub const fn disconnected(&mut self, reason: DisconnectReason) {
        self.end(TransportEnd::Disconnected(reason));
    }

    /// Whether the end is known, reported or not.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.is_over
    }

    /// `Connected`, if it was not reported yet.
    pub fn poll_connected(&mut self) -> Option<Input<'static>> {
        self.connected.take().map(|limits| Input::Connected { limits })
    }

    /// `ConnectFailed`, if that is how it ended and it was not reported yet. May be reported before completions: of a
    /// connection that never was they can only be flushes, which say nothing about why.
    pub fn poll_failure(&mut self) -> Option<Input<'static>> {
        if let Some(TransportEnd::ConnectFailed(reason)) = self.end {
            self.end = None;
            return Some(Input::ConnectFailed { reason });
        }
        None
    }

    /// What was not reported yet, the end last. To be asked only when the device has no completion left to report.
    pub fn poll_end(&mut self) -> Option<Input<'static>> {
        if let Some(connected) = self.poll_connected() {
            return Some(connected);
        }
        self.end.take().map(TransportEnd::input)
    }

    const fn end(&mut self, end: TransportEnd) {
        if !self.is_over {
            self.end = Some(end);
            self.is_over = true;
        }
    }
}

#[cfg(test)]
mod tests;
