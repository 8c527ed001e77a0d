//! Settings of one connection's link that are not part of its configuration.

use super::VerbsConnection;
use crate::Error;

/// Settings of the network and of the device. Without a value the device or the system decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkOptions {
    /// Type of service of the packets, 0 to 255 (`RDMA_OPTION_ID_TOS`). The upper six bits are the DSCP, by which
    /// switches choose the lossless class of RoCE.
    pub type_of_service: Option<u8>,
    /// Local acknowledgement timeout of InfiniBand and RoCE, 4.096 µs times 2 to this power, 1 to 31
    /// (`RDMA_OPTION_ID_ACK_TIMEOUT`): how soon the device notices a dead link.
    pub ack_timeout: Option<u8>,
    /// Moderation of the completion queue (`ibv_modify_cq`): an event after this number of completions, or after this
    /// number of microseconds, instead of for each completion. Hardware only.
    pub moderation: Option<(u16, u16)>,
}

impl VerbsConnection {
    /// Changes settings of the link. Call it before the connection is driven. Returns at once.
    ///
    /// # Errors
    /// The device does not support the setting.
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

    /// The next asynchronous event of the device (`ibv_get_async_event`), by its verbs name without `IBV_EVENT_`, such
    /// as `PORT_ERR`. `None` if there is none, or no device yet. Never blocks. Each event is reported once for all
    /// connections of a device.
    ///
    /// # Errors
    /// The events of the device cannot be read.
    pub fn next_device_event(&self) -> Result<Option<&'static str>, Error> {
        let Some(device) = self.link.id.device() else { return Ok(None) };
        Ok(device.next_async_event()?.map(|event| event.name()))
    }
}
