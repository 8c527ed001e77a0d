//! What can be asked of one connection's link besides its configuration.

use super::VerbsConnection;
use crate::Error;

/// Settings of the network and of the device. All off by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkOptions {
    /// Type of service of the packets: upper six bits the DSCP, by which switches choose the lossless class of RoCE.
    pub type_of_service: Option<u8>,
    /// Local acknowledgement timeout, 4.096 µs times 2 to this power (1 to 31), on InfiniBand and RoCE: how soon a dead
    /// link is noticed.
    pub ack_timeout: Option<u8>,
    /// Wakes for so many completions, or after so many microseconds, instead of for each. Hardware only.
    pub moderation: Option<(u16, u16)>,
}

impl VerbsConnection {
    /// Changes settings of the link. To be called before the connection is driven.
    ///
    /// # Errors
    /// The device does not have the setting.
    pub fn set_link_options(&mut self, options: LinkOptions) -> Result<(), Error> {
        if let Some(value) = options.type_of_service {
            self.link.id.set_type_of_service(value)?;
        }
        if let Some(value) = options.ack_timeout {
            self.link.id.set_ack_timeout(value)?;
        }
        self.moderation = options.moderation;
        self.moderate()
    }

    /// Sets what was asked for, once there is a completion queue.
    pub(super) fn moderate(&mut self) -> Result<(), Error> {
        match (self.moderation, &mut self.open) {
            (Some((count, micros)), Some(open)) => Ok(open.qp.set_moderation(count, micros)?),
            _ => Ok(()),
        }
    }

    /// What the device last said about itself, by the name of the verbs (`IBV_EVENT_PORT_ERR`). Each event is told once
    /// for all connections of a device.
    ///
    /// # Errors
    /// The device cannot be asked.
    pub fn next_device_event(&self) -> Result<Option<&'static str>, Error> {
        let Some(device) = self.link.id.device() else { return Ok(None) };
        Ok(device.next_async_event()?.map(|event| event.name()))
    }
}
