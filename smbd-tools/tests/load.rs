//! The load of `smbd-perf` against the exercise server, over the simulated device on both kinds of network.

use std::rc::Rc;
use std::time::Duration;

use smbd_core::backend::drive;
use smbd_core::{Config, Endpoint, Instant, Params, Role};
use smbd_sim::Side;
use smbd_sim::backend::{Fate, SimBuffer, SimNet};
use smbd_sim::nic::{NicConfig, Personality};
use smbd_sim::world::WorldConfig;
use smbd_tools::exercise::{Limits, Server};
use smbd_tools::load::{Gate, Kind, Length, Load, Plan, Problem, Stage};

const PERSONALITIES: [Personality; 2] = [Personality::Roce, Personality::Iwarp];
const KINDS: [Kind; 4] = [Kind::Send, Kind::Read, Kind::Write, Kind::Latency];

/// What came of a run.
struct Run {
    gate: Rc<Gate>,
    loads: Vec<Load<SimBuffer>>,
    servers: Vec<Server<SimBuffer>>,
}

fn run(personality: Personality, plan: Plan, length: Length, connections: u32, limits: Limits) -> Run {
    let params = Params { keepalive: None, ..Params::example() };
    let config = Config::try_from(params).expect("valid");
    let nic = NicConfig::of(personality, &config.budget());
    let mut net = SimNet::new(&WorldConfig::new(7, personality), &config, &nic, Fate::Connects, connections);
    let gate = Rc::new(Gate::new(connections, Duration::from_millis(1), length));
    let endpoint = |role| Endpoint::new(role, &config, Instant::ORIGIN);
    let mut machines: Vec<_> =
        (0..connections).map(|_| [endpoint(Role::Initiator), endpoint(Role::Acceptor)]).collect();
    let mut loads: Vec<_> = (0..connections).map(|_| Load::new(plan, Rc::clone(&gate))).collect();
    let mut servers: Vec<_> = (0..connections).map(|_| Server::new(limits)).collect();
    for _ in 0..20_000 {
        for (index, [client, server]) in machines.iter_mut().enumerate() {
            let mut end = net.end(index, Side::Initiator).expect("there are as many");
            drive(client, &mut end, &mut loads[index]).expect("no broken contract");
            let mut end = net.end(index, Side::Acceptor).expect("there are as many");
            drive(server, &mut end, &mut servers[index]).expect("no broken contract");
        }
        if machines
            .iter()
            .flatten()
            .all(|machine| machine.connection().phase() == smbd_core::PhaseName::Drained)
        {
            assert_eq!(net.breaches().count(), 0);
            return Run { gate, loads, servers };
        }
        net.pass(Duration::from_micros(10));
    }
    panic!("not over in time: {:?}", loads.iter().map(Load::stage).collect::<Vec<_>>());
}

#[test]
fn every_kind_of_load_counts_what_was_asked_for() {
    for personality in PERSONALITIES {
        for kind in KINDS {
            let plan = Plan { kind, size: 5000, depth: 3, verify: true };
            let run = run(personality, plan, Length::Count(100), 2, Limits::default());
            for load in &run.loads {
                assert_eq!((load.problem(), load.measured()), (None, 100), "{kind:?}");
                assert_eq!((load.stage(), load.times().len()), (Stage::Over, 100));
            }
            // What is complete once handed over may all be so at the same virtual time.
            let waits = matches!(kind, Kind::Read | Kind::Latency);
            assert!(!waits || run.gate.elapsed() > Duration::ZERO, "{personality:?} {kind:?}");
            for server in &run.servers {
                let stats = server.stats();
                assert_eq!((stats.failures, server.buffer_bytes()), (0, 0));
                assert!(kind != Kind::Send || stats.counted >= 100);
                assert!(kind != Kind::Latency || stats.returned >= 100);
            }
        }
    }
}

#[test]
fn a_load_for_a_time_ends_when_it_is_over() {
    for personality in PERSONALITIES {
        for kind in KINDS {
            let plan = Plan { kind, size: 100, depth: 4, verify: false };
            let length = Length::Time(Duration::from_millis(2));
            let run = run(personality, plan, length, 1, Limits::default());
            let load = &run.loads[0];
            assert_eq!(load.problem(), None, "{kind:?}");
            assert!(load.measured() > 10, "{kind:?}: {}", load.measured());
            assert_eq!(run.gate.elapsed(), Duration::from_millis(2));
        }
    }
}

#[test]
fn what_cannot_be_done_is_named_with_option_and_limit() {
    let limits = Limits { message: 10_000, buffer: 20_000, ..Limits::default() };
    let text = |kind, size, depth| {
        let plan = Plan { kind, size, depth, verify: false };
        let run = run(Personality::Roce, plan, Length::Count(1), 2, limits);
        run.loads.iter().find_map(Load::problem).map(Problem::to_string).expect("it cannot be done")
    };
    assert_eq!(text(Kind::Send, 131_073, 1), "--size 131073: the longest message the peer takes is 131072");
    assert_eq!(
        text(Kind::Latency, 10_001, 1),
        "--size 10001: the longest message of the server (its --max-message) is 10000"
    );
    assert_eq!(text(Kind::Read, 1 << 21, 1), "--size 2097152: MaxReadWriteSize of the connection is 1048576");
    assert_eq!(
        text(Kind::Write, 20_001, 1),
        "--size 20001: the longest buffer of the server (its --max-buffer) is 20000"
    );
    assert_eq!(text(Kind::Send, 1, 16), "--depth 16: the number of message slots is 15");
    assert_eq!(text(Kind::Read, 1, 5), "--depth 5: the number of RDMA operations of the configuration is 4");
}
