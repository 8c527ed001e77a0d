use smbd_core::{Config, ConfigError, Params, Token};

use crate::nic::Personality;

/// What the examples are run with. The default is what section 4 says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Which kind of network.
    pub personality: Personality,
    /// Credits each side asks for and gives.
    pub credits: u16,
    /// Longest message each side sends and receives, header included, in bytes.
    pub send_size: u32,
    /// Length of the upper-layer message of 4.3 in bytes.
    pub bytes: u32,
    /// Address of the buffer registered in 4.4.
    pub offset: u64,
    /// Address of the buffer registered in 4.5.
    pub read_offset: u64,
    /// Token of the buffer registered in 4.4; that of 4.5 is the next key of the same window.
    pub token: Token,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            personality: Personality::Roce,
            credits: 10,
            send_size: 1024,
            bytes: 64 * 1024,
            offset: 0xABCD_E012,
            read_offset: 0x0DCB_A024,
            token: Token(0x1A00_BC56),
        }
    }
}

impl Options {
    /// The configuration of both sides.
    ///
    /// # Errors
    /// A value out of the range that a connection can have.
    pub fn config(&self) -> Result<Config, ConfigError> {
        let example = Params::example();
        Config::try_from(Params {
            receive_credit_max: self.credits,
            send_credit_target: self.credits,
            max_send_size: self.send_size,
            max_receive_size: self.send_size,
            send_slots: self.credits.max(example.send_slots),
            ..example
        })
    }
}
