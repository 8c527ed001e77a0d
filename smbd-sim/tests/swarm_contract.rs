//! What happens to an upper layer that breaks its contract: it gives fragments back only when its own message is sent.

use std::time::Duration;

use smbd_core::error::CloseReason;
use smbd_core::{Config, Event, Fragment, Params};
use smbd_sim::Side;
use smbd_sim::fault::NoFaults;
use smbd_sim::host::{Context, HostConfig, Upper};
use smbd_sim::nic::{NicConfig, Personality};
use smbd_sim::oracle::Oracles;
use smbd_sim::world::{World, WorldConfig};

const MESSAGE: usize = 4000;

#[derive(Debug, Default)]
struct Talker {
    waits_for_sent: bool,
    sent: bool,
    held: Vec<Fragment>,
    received: u64,
    closed: Option<CloseReason>,
}

impl Upper for Talker {
    fn event(&mut self, event: Event, context: &mut Context<'_>) {
        match event {
            Event::Established(_) => {
                context.send_bytes(&[7; MESSAGE], None).expect("there is room for one message");
            }
            Event::Data(fragment) => {
                self.received += u64::from(fragment.len());
                self.held.push(fragment);
            }
            Event::Sent { .. } => self.sent = true,
            Event::Closed(reason) => self.closed = Some(reason),
            _ => {}
        }
        if self.sent || !self.waits_for_sent || self.closed.is_some() {
            for fragment in self.held.drain(..) {
                context.release(fragment);
            }
        }
    }
}

fn talk(waits_for_sent: bool) -> World<Talker, NoFaults, Oracles> {
    let params = Params {
        receive_credit_max: 4,
        max_send_size: 128,
        max_receive_size: 128,
        borrowed_max: 0,
        send_credit_timeout: Some(Duration::from_secs(5)),
        ..Params::windows()
    };
    let config = Config::try_from(params).expect("all in range");
    let host = || HostConfig {
        nic: NicConfig::of(Personality::Roce, &config.budget()),
        config: config.clone(),
        upper: Talker { waits_for_sent, ..Talker::default() },
    };
    let oracles = Oracles::new([config.clone(), config.clone()]);
    let mut world = World::new(&WorldConfig::new(1, Personality::Roce), [host(), host()], NoFaults, oracles);
    world.run_for(Duration::from_secs(200));
    world
}

#[test]
fn two_upper_layers_that_wait_for_each_other_are_stuck_until_the_keepalive_and_leave_nothing_behind() {
    let world = talk(true);
    let reasons = Side::BOTH.map(|side| world.host(side).upper.closed);
    // Each has its last credit, and no receive left to grant with it: no want of the peer's, so no credit stall.
    assert!(reasons.contains(&Some(CloseReason::KeepaliveTimeout)), "{reasons:?}");
    let received = Side::BOTH.map(|side| world.host(side).upper.received);
    assert!(received.iter().all(|bytes| *bytes < MESSAGE as u64), "{received:?} bytes arrived");
    assert!(world.is_drained());
    // Their fault, not the connection's: it kept every law, and gave everything back.
    assert_eq!(world.probe().verdicts().failure(), None);
    assert_eq!(world.breaches().collect::<Vec<_>>(), []);
    assert_eq!(Side::BOTH.map(|side| world.host(side).device.nic.buffers.live()), [0, 0]);
}

#[test]
fn the_same_two_get_everything_if_they_release_without_waiting() {
    let world = talk(false);
    let received = Side::BOTH.map(|side| world.host(side).upper.received);
    assert_eq!(received, [MESSAGE as u64; 2]);
    assert_eq!(Side::BOTH.map(|side| world.host(side).upper.closed), [None, None]);
    assert_eq!(world.probe().verdicts().failure(), None);
}
