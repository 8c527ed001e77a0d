//! How connections are configured.

use super::error::WireError;
use super::negotiation::Negotiation;
use super::reader::{Reader, Writer};

/// The longest silence after which a keepalive is sent, in milliseconds: a day.
pub const KEEPALIVE_MAX: u32 = 86_400_000;

/// The parameters of SMB Direct for connections that come from now on (MS-SMBD 3.1.1.1), and who answers NEGOTIATE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Connection.ReceiveCreditMax.
    pub receive_credit_max: u16,
    /// Connection.SendCreditTarget.
    pub send_credit_target: u16,
    /// Connection.MaxSendSize, in bytes.
    pub max_send_size: u32,
    /// Connection.MaxReceiveSize, in bytes.
    pub max_receive_size: u32,
    /// The longest message that is received, in bytes (MaxFragmentedReceiveSize).
    pub max_fragmented_size: u32,
    /// The longest transfer, in bytes (MaxReadWriteSize).
    pub max_read_write_size: u32,
    /// Connection.KeepaliveInterval, in milliseconds: 1 to [`KEEPALIVE_MAX`].
    pub keepalive_interval: u32,
    /// With what the broker answers NEGOTIATE. Without it, owners answer.
    pub negotiation: Option<Negotiation>,
}

impl Parameters {
    pub(super) fn parse(mut reader: Reader<'_>) -> Result<Self, WireError> {
        let receive_credit_max = reader.u16("ReceiveCreditMax")?;
        let send_credit_target = reader.u16("SendCreditTarget")?;
        let max_send_size = reader.u32("MaxSendSize")?;
        let max_receive_size = reader.u32("MaxReceiveSize")?;
        let max_fragmented_size = reader.u32("MaxFragmentedSize")?;
        let max_read_write_size = reader.u32("MaxReadWriteSize")?;
        let keepalive_interval = reader.u32("KeepaliveInterval")?;
        let is_valid = (1..=KEEPALIVE_MAX).contains(&keepalive_interval);
        reader.check("KeepaliveInterval", keepalive_interval.into(), is_valid, "it is 1 to 86400000")?;
        let answers = reader.flag("AnswersNegotiate")?;
        reader.reserved()?;
        let negotiation = answers.then(|| Negotiation::parse(&mut reader)).transpose()?;
        reader.end()?;
        Ok(Self {
            receive_credit_max,
            send_credit_target,
            max_send_size,
            max_receive_size,
            max_fragmented_size,
            max_read_write_size,
            keepalive_interval,
            negotiation,
        })
    }

    pub(super) fn write(&self, to: &mut Writer<'_>) {
        to.u16(self.receive_credit_max);
        to.u16(self.send_credit_target);
        to.u32(self.max_send_size);
        to.u32(self.max_receive_size);
        to.u32(self.max_fragmented_size);
        to.u32(self.max_read_write_size);
        to.u32(self.keepalive_interval);
        to.u16(self.negotiation.is_some().into());
        to.u16(0);
        if let Some(negotiation) = &self.negotiation {
            negotiation.write(to);
        }
    }
}

/// What an owner may use at the same time, and how large things are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a slot.
    pub slot_len: u32,
    /// Slots of an owner.
    pub slots_max: u16,
    /// Messages of a connection that the owner has sent and of which the broker has not said [`Sent`](super::Event::Sent).
    pub sends_max: u16,
    /// Bytes of these messages together. One message may exceed it.
    pub send_bytes_max: u32,
    /// Bytes of the messages of a client that the owner has not [taken](super::Command::Taken), each counted as 256 at least. One
    /// message may exceed it.
    pub receive_bytes_max: u32,
    /// Transfers of a connection.
    pub transfers_max: u16,
}

impl Limits {
    pub(super) fn parse(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let slot_len = reader.u32("SlotLength")?;
        let slots_max = reader.u16("SlotsMax")?;
        let sends_max = reader.u16("SendsMax")?;
        let send_bytes_max = reader.u32("SendBytesMax")?;
        let receive_bytes_max = reader.u32("ReceiveBytesMax")?;
        let transfers_max = reader.u16("TransfersMax")?;
        reader.reserved()?;
        Ok(Self { slot_len, slots_max, sends_max, send_bytes_max, receive_bytes_max, transfers_max })
    }

    pub(super) fn write(&self, to: &mut Writer<'_>) {
        to.u32(self.slot_len);
        to.u16(self.slots_max);
        to.u16(self.sends_max);
        to.u32(self.send_bytes_max);
        to.u32(self.receive_bytes_max);
        to.u16(self.transfers_max);
        to.u16(0);
    }
}
