//! The records of an endpoint's messages.

use smbd_core::wire::DataTransfer;

/// The records of one endpoint.
#[derive(Clone, Debug, Default)]
pub(super) struct Whole {
    /// Whole messages are handed up, no fragments.
    pub(super) is_endpoint: bool,
    /// Of an endpoint: it puts nothing together.
    pub(super) in_pieces: bool,
    /// Nothing is to be handed up: what arrives stays in its receives, until the connection ends.
    pub(super) paused: bool,
    /// Bytes of the message under way that were copied.
    pub(super) copied: u32,
    /// Receives that the upper layer has.
    pub(super) borrowed: u16,
    /// Bytes of the message under way that have arrived.
    arrived: u32,
    /// Most bytes of one message that have arrived.
    longest: u32,
}

impl Whole {
    pub(super) const fn begin(&mut self) {
        self.is_endpoint = true;
    }

    pub(super) const fn begin_pieces(&mut self) {
        (self.is_endpoint, self.in_pieces) = (true, true);
    }

    pub(super) fn arrived(&self) -> usize {
        usize::try_from(self.longest).unwrap_or(usize::MAX)
    }

    /// A fragment has arrived.
    pub(super) fn on_fragment(&mut self, header: &DataTransfer) {
        // An empty message may come in the middle of another.
        if header.data_length == 0 {
            return;
        }
        self.arrived += header.data_length;
        self.longest = self.longest.max(self.arrived);
        if header.remaining_data_length == 0 {
            self.arrived = 0;
        }
    }

    /// A borrowed message came back.
    pub(super) const fn given_back(&mut self) {
        self.borrowed = self.borrowed.saturating_sub(1);
    }
}
