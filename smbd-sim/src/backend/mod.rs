//! The simulated device as a [`Backend`](smbd_core::backend::Backend): for the kit, and for users that drive a
//! connection themselves.

mod end;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use smbd_core::error::{ConnectReason, WorkError};
use smbd_core::{Config, Instant, Token, WrId};

pub use end::{SimBackend, SimBuffer};

use crate::device::PrivateData;
use crate::fault::{Disruption, Faults};
use crate::host::{HostConfig, Listener};
use crate::memory::Buffer;
use crate::nic::{NicConfig, Personality};
use crate::world::{World, WorldConfig};
use crate::{Breach, Rng, Side};

/// What becomes of the attempt to connect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fate {
    /// It succeeds.
    #[default]
    Connects,
    /// It succeeds, and the acceptor hears of it so much later than it could.
    HeardLate(Duration),
    /// It fails after a time.
    Fails(ConnectReason, Duration),
}

/// What goes wrong.
#[derive(Clone, Debug)]
struct Plan {
    fate: Fate,
    /// What each side's device still takes.
    left: [Option<Refusal>; 2],
    /// Deregistrations that each side's device still fails.
    held_open: [usize; 2],
}

/// Which work requests are counted, and how many are taken before all later ones are refused.
#[derive(Clone, Copy, Debug)]
struct Refusal {
    counted: fn(WrId) -> bool,
    left: usize,
}

/// Invalid argument.
const EINVAL: i32 = 22;

impl Faults for Plan {
    fn connect(&mut self, _: &mut Rng) -> Result<(), (ConnectReason, Duration)> {
        match self.fate {
            Fate::Fails(reason, after) => Err((reason, after)),
            Fate::Connects | Fate::HeardLate(_) => Ok(()),
        }
    }

    fn established_late(&mut self, _: &mut Rng) -> Option<Duration> {
        match self.fate {
            Fate::HeardLate(late) => Some(late),
            Fate::Connects | Fate::Fails(..) => None,
        }
    }

    fn refuse_post(&mut self, _: Instant, side: Side, work: WrId, _: &mut Rng) -> Option<i32> {
        let refusal = self.left[side.index()].as_mut()?;
        if !(refusal.counted)(work) {
            return None;
        }
        match refusal.left.checked_sub(1) {
            Some(fewer) => {
                refusal.left = fewer;
                None
            }
            None => Some(EINVAL),
        }
    }

    fn fail_deregistration(&mut self, _: Instant, side: Side, _: &mut Rng) -> Option<WorkError> {
        let left = &mut self.held_open[side.index()];
        *left = left.checked_sub(1)?;
        Some(WorkError::Other(0))
    }
}

/// Buffers of one side whose last handle is gone.
type Dropped = Rc<RefCell<Vec<Buffer>>>;

/// The two devices of a connection.
#[derive(Debug)]
struct Link {
    world: World<Listener, Plan>,
    dropped: [Dropped; 2],
}

/// Two hosts with simulated devices, some connections between them, and the virtual time they share.
#[derive(Debug)]
pub struct SimNet {
    links: Vec<Link>,
}

/// How far apart the first tokens of two connections are.
const TOKENS_APART: u32 = 0x0100_0000;

impl SimNet {
    /// Devices for so many connections of this configuration. Tokens of one mean nothing on another.
    #[must_use]
    pub fn new(rules: &WorldConfig, config: &Config, nic: &NicConfig, fate: Fate, connections: u32) -> Self {
        Self::between(rules, config, [nic, nic], fate, connections)
    }

    /// The same with two kinds of devices, the initiator's first.
    #[must_use]
    pub fn between(
        rules: &WorldConfig,
        config: &Config,
        nics: [&NicConfig; 2],
        fate: Fate,
        connections: u32,
    ) -> Self {
        let link = |connection: u32| {
            let hosts = nics.map(|nic| {
                let first = nic.first_token.0.wrapping_add(connection.wrapping_mul(TOKENS_APART));
                let nic = NicConfig { first_token: Token(first), ..nic.clone() };
                HostConfig { config: config.clone(), nic, upper: Listener }
            });
            let mut world = World::new(rules, hosts, Plan { fate, left: [None; 2], held_open: [0; 2] }, ());
            for side in Side::BOTH {
                world.make_bare(side);
            }
            Link { world, dropped: [Rc::default(), Rc::default()] }
        };
        Self { links: (0..connections).map(link).collect() }
    }

    /// One device; `None` if there is no such connection.
    pub fn end(&mut self, connection: usize, side: Side) -> Option<SimBackend<'_>> {
        self.links.get_mut(connection)?.sweep(side);
        Some(SimBackend::new(self, connection, side))
    }

    /// Lets virtual time pass.
    pub fn pass(&mut self, time: Duration) {
        for link in &mut self.links {
            let until = link.world.now().saturating_add(time);
            link.world.run_until(until, |_| false);
        }
    }

    /// The device takes so many more work requests and refuses all later ones.
    pub fn refuse_after(&mut self, connection: usize, side: Side, accepted: usize) {
        self.refuse_some(connection, side, |_| true, accepted);
    }

    /// The device takes so many more of the work requests that are counted, and refuses the next of them; all that is
    /// posted behind it is flushed.
    pub fn refuse_some(&mut self, connection: usize, side: Side, counted: fn(WrId) -> bool, accepted: usize) {
        if let Some(link) = self.links.get_mut(connection) {
            link.world.faults_mut().left[side.index()] = Some(Refusal { counted, left: accepted });
        }
    }

    /// What a side says when it connects or accepts. Only on iWARP; elsewhere nobody hears it.
    pub fn say(&mut self, connection: usize, side: Side, what: PrivateData) {
        if let Some(link) = self.links.get_mut(connection)
            && link.world.personality() == Personality::Iwarp
        {
            link.world.host_mut(side).device.say(what);
        }
    }

    /// The private data that a side's peer sent with its request, or with its consent; `None` until they came.
    #[must_use]
    pub fn heard(&self, connection: usize, side: Side) -> Option<&[u8]> {
        self.links.get(connection)?.world.host(side).device.heard()
    }

    /// The device fails so many deregistrations; the memory stays open.
    pub fn fail_deregistrations(&mut self, connection: usize, side: Side, count: usize) {
        if let Some(link) = self.links.get_mut(connection) {
            link.world.faults_mut().held_open[side.index()] = count;
        }
    }

    /// Disturbs a connection now.
    pub fn disrupt(&mut self, connection: usize, disruption: Disruption) {
        if let Some(link) = self.links.get_mut(connection) {
            link.world.disrupt(disruption);
        }
    }

    /// What whoever drives the devices did wrong.
    pub fn breaches(&self) -> impl Iterator<Item = (Side, Breach)> + '_ {
        self.links.iter().flat_map(|link| link.world.breaches())
    }
}

impl Link {
    /// Frees memory nobody has a handle to and no device uses.
    fn sweep(&mut self, side: Side) {
        let device = &mut self.world.host_mut(side).device;
        // What is chained is with the device soon.
        if device.has_chain() {
            return;
        }
        let buffers = &mut device.nic.buffers;
        self.dropped[side.index()].borrow_mut().retain(|buffer| {
            let used = buffers.in_use(*buffer);
            if !used {
                buffers.free(*buffer);
            }
            used
        });
    }
}
