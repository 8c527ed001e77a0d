use std::time::Duration;

use smbd_core::wire::{DATA_OFFSET, DataTransfer, Flags};
use smbd_core::{Close, Config, Params, WrId};

use super::receiving::Receiving;
use super::*;
use crate::fault::NoFaults;
use crate::host::{HostConfig, Listener};
use crate::nic::{NicConfig, Personality};
use crate::world::{World, WorldConfig};

fn first_fragment(remaining: u32) -> DataTransfer {
    DataTransfer {
        credits_requested: 1,
        credits_granted: 0,
        flags: Flags::NONE,
        remaining_data_length: remaining,
        data_offset: DATA_OFFSET,
        data_length: 100,
    }
}

#[test]
fn only_a_fragment_that_came_before_a_pause_may_be_taken_in_while_it_lasts() {
    let mut receiving = Receiving::new(&Config::try_from(Params::example()).expect("valid"));
    let [early, late] = [3, 4].map(|slot| match WrId::from_raw(1 << 56 | slot) {
        Some(WrId::Recv(id)) => id,
        other => unreachable!("kind 1 is a receive: {other:?}"),
    });
    receiving.on_message(early, &first_fragment(200));
    receiving.on_pause();
    receiving.on_message(late, &first_fragment(100));
    assert!(receiving.may_be_taken(early.slot()) && !receiving.may_be_taken(late.slot()));
    assert!(receiving.take_due().is_some());
    assert!(!receiving.may_be_taken(early.slot()) && !receiving.may_be_taken(late.slot()));
}

#[test]
fn a_plain_exchange_breaks_no_law() {
    for personality in [Personality::Roce, Personality::Iwarp] {
        let config = Config::try_from(Params::example()).expect("the example is valid");
        let host = || HostConfig {
            nic: NicConfig::of(personality, &config.budget()),
            config: config.clone(),
            upper: Listener,
        };
        let oracles = Oracles::new([config.clone(), config.clone()]);
        let mut world = World::new(&WorldConfig::new(1, personality), [host(), host()], NoFaults, oracles);
        world.run_for(Duration::from_millis(1));
        for side in Side::BOTH {
            world.command(side, |_, context| context.send_bytes(&[7; 30_000], None)).expect("established");
        }
        world.run_for(Duration::from_secs(1000));
        let until = world.now().saturating_add(Duration::from_secs(1));
        world.command(Side::Initiator, |_, context| context.close(Close::Flush { until }));
        world.run_for(Duration::from_secs(10));

        assert!(world.is_drained());
        assert_eq!(world.probe().verdicts().failure(), None);
        for law in [Law::Ledger, Law::Covered, Law::Credits, Law::Fragments, Law::Keepalive, Law::Drained] {
            assert!(world.probe().verdicts().count(law) > 0, "{law:?} was not looked at");
        }
    }
}
