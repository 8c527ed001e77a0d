use std::time::Duration;

use smbd_core::{Close, Config, Params};

use super::*;
use crate::host::Listener;
use crate::nic::NicConfig;
use crate::trace::Trace;

const ALL: [Personality; 2] = [Personality::Roce, Personality::Iwarp];

fn config() -> Config {
    Config::try_from(Params::example()).expect("the example is valid")
}

fn host<U>(personality: Personality, upper: U) -> HostConfig<U> {
    let config = config();
    HostConfig { nic: NicConfig::of(personality, &config.budget()), config, upper }
}

#[test]
fn two_hosts_negotiate() {
    for personality in ALL {
        let world_config = WorldConfig::new(1, personality);
        let hosts = [host(personality, Listener), host(personality, Listener)];
        let mut world = World::new(&world_config, hosts, NoFaults, Trace::kept());
        world.run_for(Duration::from_millis(1));
        world
            .command(Side::Initiator, |_, context| context.send_bytes(&[7; 3000], None))
            .expect("established");
        world.run_for(Duration::from_millis(1));
        world.command(Side::Initiator, |_, context| context.close(Close::Abort));
        world.run_for(Duration::from_secs(10));

        assert!(world.is_drained());
        assert_eq!(world.breaches().collect::<Vec<_>>(), []);
    }
}

#[test]
fn a_lost_connection_is_followed_by_another_one_on_the_same_hosts() {
    for personality in ALL {
        let world_config = WorldConfig::new(1, personality);
        let hosts = [host(personality, Listener), host(personality, Listener)];
        let mut world = World::new(&world_config, hosts, NoFaults, Trace::kept());
        world.run_for(Duration::from_millis(1));
        world.disrupt(Disruption::CutLoudly);
        world.run_for(Duration::from_secs(10));
        assert!(world.is_drained());
        world.reconnect();
        world.run_for(Duration::from_millis(1));
        world
            .command(Side::Acceptor, |_, context| context.send_bytes(&[7; 3000], None))
            .expect("established again");
        world.command(Side::Acceptor, |_, context| context.close(Close::Abort));
        world.run_for(Duration::from_secs(10));

        assert!(world.is_drained());
        assert_eq!(world.breaches().collect::<Vec<_>>(), []);
    }
}
