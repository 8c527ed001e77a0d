//! A connection of a gateway, whose ends are always ready and do nothing with data.

use std::time::Duration;

use smbd_gateway::Pump;
use smbd_smb2::relay::{Config, Params, Relay};
use tokio::runtime::Runtime;

use super::ends::{End, State};
use super::measured;

pub const MIB: u32 = 1 << 20;

/// A runtime, whose timers a connection has.
pub fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime")
}

/// The connection between a client that has logged in and its server.
pub struct Gateway {
    pump: Pump<Relay, End, End>,
    pub end: End,
}

impl Gateway {
    /// Inside of a runtime.
    pub fn new() -> Self {
        let end = End::default();
        let params = Params { max_fragmented_size: MIB, ..Params::default() };
        let config = Config::new(&params).expect("valid parameters");
        let pump = Pump::new(Relay::new(&config), end.clone(), end.clone(), Duration::from_secs(30));
        let mut gateway = Self { pump, end };
        gateway.run(1, State::log_in);
        gateway
    }

    /// Until the client has so many answers.
    pub fn run(&mut self, answers: u32, exchange: impl FnOnce(&mut State)) {
        exchange(&mut self.end.0.borrow_mut());
        while self.end.0.borrow().messages < answers {
            assert!(measured::poll(&mut self.pump).is_pending(), "it has not ended");
        }
        self.end.0.borrow_mut().messages = 0;
    }
}
