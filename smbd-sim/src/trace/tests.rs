use std::time::Duration;

use smbd_core::{Close, Config, Params};

use super::Trace;
use crate::Side;
use crate::fault::NoFaults;
use crate::host::{HostConfig, Listener};
use crate::nic::{NicConfig, Personality};
use crate::world::{World, WorldConfig};

fn session(trace: Trace) -> World<Listener, NoFaults, Trace> {
    let params = Params { receive_credit_max: 4, send_credit_target: 4, ..Params::example() };
    let config = Config::try_from(params).expect("valid");
    let host = || HostConfig {
        nic: NicConfig::of(Personality::Roce, &config.budget()),
        config: config.clone(),
        upper: Listener,
    };
    let mut world = World::new(&WorldConfig::new(1, Personality::Roce), [host(), host()], NoFaults, trace);
    world.run_for(Duration::from_millis(1));
    let sent = world.command(Side::Initiator, |_, context| context.send_bytes(&[1; 1500], None));
    sent.expect("there is room");
    world.run_for(Duration::from_millis(1));
    world.command(Side::Initiator, |_, context| context.close(Close::Abort));
    world.run_for(Duration::from_secs(10));
    assert!(world.is_drained());
    world
}

#[test]
fn a_session_reads_from_the_first_receive_to_drained() {
    insta::assert_snapshot!(session(Trace::kept()).probe().text());
}

#[test]
fn the_digest_is_that_of_the_text_kept_or_not() {
    let kept = session(Trace::kept());
    let digest = kept
        .probe()
        .text()
        .bytes()
        .fold(super::BASIS, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(super::PRIME));
    assert_eq!(kept.probe().digest(), digest);
    let lines = u64::try_from(kept.probe().text().lines().count()).expect("few");
    assert_eq!(kept.probe().lines(), lines);
    let summed = session(Trace::digest_only());
    assert_eq!((summed.probe().digest(), summed.probe().text()), (digest, ""));
}
