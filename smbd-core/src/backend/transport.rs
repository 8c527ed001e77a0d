use crate::error::{ConnectReason, DisconnectReason};
use crate::{Input, Limits};

/// The inputs about one transport connection, in the order of the contract: at most one `Connected` or `ConnectFailed`,
/// one end, the end after all completions of the device, and nothing after the end.
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
    /// Records that the connection is established. Ignored if that or the end is recorded already.
    pub const fn connected(&mut self, limits: Limits) {
        if !self.was_connected && !self.is_over {
            self.connected = Some(limits);
            self.was_connected = true;
        }
    }

    /// Records that the connection was not established. Ignored if the end is recorded already. If the connection was
    /// established, it counts as lost, with [`DisconnectReason::Unknown`].
    pub const fn connect_failed(&mut self, reason: ConnectReason) {
        if self.was_connected {
            self.end(TransportEnd::Disconnected(DisconnectReason::Unknown));
        } else {
            self.end(TransportEnd::ConnectFailed(reason));
        }
    }

    /// Records that the connection has ended: lost, ended by the peer, or by
    /// [`BackendOp::Disconnect`](super::BackendOp::Disconnect). Ignored if the end is recorded already, so the first
    /// reason counts.
    pub const fn disconnected(&mut self, reason: DisconnectReason) {
        self.end(TransportEnd::Disconnected(reason));
    }

    /// Whether the end is recorded, reported or not.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.is_over
    }

    /// Whether something is recorded and not reported yet.
    #[must_use]
    #[inline]
    pub const fn has_news(&self) -> bool {
        self.connected.is_some() || self.end.is_some()
    }

    /// Returns [`Input::Connected`] if it is recorded and not reported yet.
    pub fn poll_connected(&mut self) -> Option<Input<'static>> {
        self.connected.take().map(|limits| Input::Connected { limits })
    }

    /// Returns [`Input::ConnectFailed`] if it is recorded and not reported yet. It may be reported before completions:
    /// those of a connection that was never established can only be flushes, which have no reason.
    pub fn poll_failure(&mut self) -> Option<Input<'static>> {
        if let Some(TransportEnd::ConnectFailed(reason)) = self.end {
            self.end = None;
            return Some(Input::ConnectFailed { reason });
        }
        None
    }

    /// Returns the next input that is not reported yet; the end is the last. Call it only when the device has no
    /// completion left to report.
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
