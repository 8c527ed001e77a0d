use std::time::Duration;

use smbd_core::error::{ConnectReason, WorkError};
use smbd_core::{Close, Config, Event, Params, PhaseName, WrId};

use super::*;
use crate::device::Polling;
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

/// Writes down events by name, gives fragments back, and sends what it is told to when it can.
#[derive(Default)]
struct Diary {
    events: Vec<String>,
    bytes: u64,
    to_send: u32,
}

impl Diary {
    fn sending(messages: u32) -> Self {
        Self { to_send: messages, ..Self::default() }
    }

    fn send(&mut self, context: &mut Context<'_>) {
        while self.to_send > 0 && context.send_bytes(&[0x5A; 2500], None).is_ok() {
            self.to_send -= 1;
        }
    }

    fn ends(&self) -> Vec<&str> {
        let is_end =
            |name: &&str| ["Closed", "ConnectFailed", "Drained"].iter().any(|end| name.starts_with(end));
        self.events.iter().map(String::as_str).filter(is_end).collect()
    }
}

impl Upper for Diary {
    fn event(&mut self, event: Event, context: &mut Context<'_>) {
        self.events.push(format!("{event:?}"));
        match event {
            Event::Established(_) | Event::Writable => self.send(context),
            Event::Data(fragment) => {
                self.bytes += u64::from(fragment.len());
                assert!(
                    context.fragment(&fragment).iter().all(|byte| *byte == 0x5A),
                    "the bytes that were sent"
                );
                context.release(fragment);
            }
            Event::ConnectFailed(_)
            | Event::Invalidated { .. }
            | Event::Sent { .. }
            | Event::RdmaDone { .. }
            | Event::Registered { .. }
            | Event::Deregistered { .. }
            | Event::Probed(_)
            | Event::Closed(_)
            | Event::Drained => {}
        }
    }
}

type DiaryWorld<F> = World<Diary, F, Trace>;

fn world<F: Faults>(config: &WorldConfig, messages: u32, faults: F) -> DiaryWorld<F> {
    let hosts = [messages, messages].map(|n| host(config.personality, Diary::sending(n)));
    World::new(config, hosts, faults, Trace::kept())
}

fn check<F: Faults>(world: &DiaryWorld<F>) {
    let breaches: Vec<_> = world.breaches().collect();
    assert_eq!(breaches, [], "{}", world.probe().text());
}

#[test]
fn two_hosts_negotiate_exchange_messages_and_part() {
    for personality in ALL {
        let mut world = world(&WorldConfig::new(1, personality), 20, NoFaults);
        world.run_for(Duration::from_millis(1));
        for side in Side::BOTH {
            assert_eq!(world.host(side).upper.bytes, 20 * 2500, "{}", world.probe().text());
            assert_eq!(world.connection(side).map(Connection::phase), Some(PhaseName::Established));
        }
        world.command(Side::Acceptor, |_, context| context.close(Close::Abort));
        world.run_for(Duration::from_secs(10));
        assert!(world.is_drained());
        assert_eq!(world.host(Side::Acceptor).upper.ends(), ["Closed(Local)", "Drained"]);
        assert_eq!(
            world.host(Side::Acceptor).device.nic.buffers.live(),
            0,
            "what was made for messages is freed"
        );
        check(&world);
    }
}

#[test]
fn idle_hosts_are_silent_until_the_keepalive() {
    let mut world = world(&WorldConfig::new(1, Personality::Roce), 0, NoFaults);
    world.run_for(Duration::from_secs(1));
    let steps = world.steps();
    world.run_for(Duration::from_secs(100));
    assert_eq!(world.steps(), steps);
    world.run_for(Duration::from_secs(100));
    assert!(world.steps() > steps, "one of them asked");
    assert!(!world.is_drained());
    check(&world);
}

struct Refused(ConnectReason);

impl Faults for Refused {
    fn connect(&mut self, _: &mut Rng) -> Result<(), (ConnectReason, Duration)> {
        Err((self.0, Duration::from_millis(5)))
    }
}

#[test]
fn a_connection_that_does_not_come_up_fails_once() {
    for reason in [ConnectReason::Refused, ConnectReason::Unreachable, ConnectReason::TimedOut] {
        let mut world = world(&WorldConfig::new(1, Personality::Iwarp), 1, Refused(reason));
        world.run_for(Duration::from_secs(200));
        assert!(world.is_drained());
        let expected = format!("ConnectFailed(Connect({reason:?}))");
        assert_eq!(world.host(Side::Initiator).upper.ends(), [expected.as_str(), "Drained"]);
        assert!(world.connection(Side::Acceptor).is_none());
        check(&world);
    }
}

#[test]
fn an_initiator_that_gives_up_while_connecting_leaves_nothing_behind() {
    for personality in ALL {
        for nanos in [0, 1_000, 2_500, 4_001, 5_000, 6_001, 7_000] {
            let mut world = world(&WorldConfig::new(1, personality), 1, NoFaults);
            world.step();
            world.run_until(Instant::from_nanos(nanos), |_| false);
            world.command(Side::Initiator, |_, context| context.close(Close::Abort));
            world.run_for(Duration::from_secs(200));
            assert!(world.is_drained(), "given up after {nanos} ns: {}", world.probe().text());
            check(&world);
        }
    }
}

struct CutAt(u64, Disruption);

impl Faults for CutAt {
    fn before_step(&mut self, _: Instant, step: u64, _: &mut Rng) -> Option<Disruption> {
        (step == self.0).then_some(self.1)
    }
}

#[test]
fn the_link_may_be_lost_at_any_step() {
    let all = [
        Disruption::CutSilently,
        Disruption::CutLoudly,
        Disruption::BreakQueuePair(Side::Initiator),
        Disruption::BreakQueuePair(Side::Acceptor),
    ];
    for personality in ALL {
        for disruption in all {
            for step in 1..60 {
                let mut world = world(&WorldConfig::new(1, personality), 8, CutAt(step, disruption));
                let far = Instant::from_nanos(u64::MAX);
                assert!(world.run_until(far, |world| world.steps() > step));
                // Whoever was not told asks sooner or later, and gets no answer.
                world.run_for(Duration::from_secs(200));
                // A queue pair that was not up yet cannot break.
                let nothing = matches!(disruption, Disruption::BreakQueuePair(_)) && step < 10;
                assert!(
                    nothing || world.is_drained(),
                    "{personality:?} {disruption:?} step {step}: {}",
                    world.probe().text()
                );
                check(&world);
            }
        }
    }
}

#[test]
fn the_memory_of_a_flushed_message_may_be_used_again_while_the_message_is_on_the_wire() {
    for personality in ALL {
        let mut world = world(&WorldConfig::new(1, personality), 0, NoFaults);
        world.run_for(Duration::from_millis(1));
        let memory = world.command(Side::Initiator, |_, context| {
            let buffer = context.memory().alloc_with(&[0x5A; 500]);
            let range = context.memory().whole(buffer).expect("just allocated");
            context.send(range, None).expect("established");
            buffer
        });
        world.disrupt(Disruption::BreakQueuePair(Side::Initiator));
        let is_told = |world: &DiaryWorld<_>| !world.host(Side::Initiator).upper.ends().is_empty();
        assert!(world.run_until(Instant::from_nanos(u64::MAX), is_told));
        assert_eq!(world.host(Side::Acceptor).upper.bytes, 0, "it is on the wire");
        world.command(Side::Initiator, |_, context| context.memory().bytes_mut(memory).fill(0xFF));
        world.run_for(Duration::from_secs(1));
        assert_eq!(world.host(Side::Acceptor).upper.bytes, 500, "{}", world.probe().text());
        check(&world);
    }
}

/// What each side says of the end.
fn closes(world: &DiaryWorld<impl Faults>, side: Side) -> Option<&str> {
    world.host(side).upper.ends().first().copied()
}

#[test]
fn who_did_not_close_is_told_that_the_peer_has() {
    for personality in ALL {
        for closer in Side::BOTH {
            let mut world = world(&WorldConfig::new(1, personality), 3, NoFaults);
            world.run_for(Duration::from_millis(1));
            world.command(closer, |_, context| context.close(Close::Abort));
            world.run_for(Duration::from_secs(200));
            assert_eq!(closes(&world, closer), Some("Closed(Local)"));
            assert_eq!(
                closes(&world, closer.peer()),
                Some("Closed(PeerClosed)"),
                "{personality:?} {closer:?}"
            );
        }
    }
}

#[test]
fn a_process_may_be_killed_at_any_step_and_the_other_side_is_told_what_its_network_tells() {
    for personality in ALL {
        let told = match personality {
            Personality::Roce => "Closed(PeerClosed)",
            Personality::Iwarp => "Closed(Lost { reason: PeerAborted })",
        };
        for victim in Side::BOTH {
            let mut seen = 0;
            for step in 1..60 {
                let faults = CutAt(step, Disruption::KillProcess(victim));
                let mut world = world(&WorldConfig::new(1, personality), 8, faults);
                let far = Instant::from_nanos(u64::MAX);
                assert!(world.run_until(far, |world| world.steps() > step));
                world.run_for(Duration::from_secs(200));
                let (at, text) =
                    (format!("{personality:?} {victim:?} step {step}"), world.probe().text().to_owned());
                assert!(world.is_drained() || step == 1, "{at}: {text}");
                if let Some(end) = closes(&world, victim.peer())
                    && end.starts_with("Closed")
                {
                    assert_eq!(end, told, "{at}: {text}");
                    seen += 1;
                }
                check(&world);
            }
            assert!(seen > 20, "{personality:?} {victim:?}: {seen}");
        }
    }
}

/// Things go wrong now and then.
struct Weather {
    refuse: u64,
    late: u64,
    refused: u32,
}

impl Weather {
    fn new(refuse: u64, late: u64) -> Self {
        Self { refuse, late, refused: 0 }
    }
}

impl Faults for Weather {
    fn established_late(&mut self, rng: &mut Rng) -> Option<Duration> {
        rng.chance(1, 2).then(|| Duration::from_nanos(rng.below(5_000)))
    }

    fn refuse_post(&mut self, _: Instant, _: Side, _: WrId, rng: &mut Rng) -> Option<i32> {
        let refuse = self.refuse > 0 && rng.chance(1, self.refuse);
        self.refused += u32::from(refuse);
        refuse.then_some(12)
    }

    fn completion_late(&mut self, _: Instant, _: Side, rng: &mut Rng) -> Duration {
        Duration::from_nanos(rng.below(self.late))
    }
}

fn stormy(seed: u64) -> WorldConfig {
    let mut rng = Rng::new(seed);
    let personality = if rng.chance(1, 2) { Personality::Roce } else { Personality::Iwarp };
    let latency = Latency { least: Duration::from_nanos(500), most: Duration::from_micros(5) };
    let polling = Polling {
        shuffled: true,
        batch: u32::try_from(rng.between(1, 20)).unwrap_or(1),
        ..Polling::default()
    };
    WorldConfig {
        times: Times { latency, ..Times::default() },
        polling,
        ..WorldConfig::new(seed, personality)
    }
}

#[test]
fn completions_may_be_late_and_out_of_order_between_queues() {
    for seed in 0..100 {
        let mut world = world(&stormy(seed), 12, Weather::new(0, 20_000));
        world.run_for(Duration::from_secs(1));
        for side in Side::BOTH {
            let bytes = world.host(side).upper.bytes;
            assert_eq!(bytes, 12 * 2500, "seed {seed} {side:?}: {}", world.probe().text());
        }
        check(&world);
    }
}

#[test]
fn a_refused_post_ends_the_connection_on_both_sides() {
    for seed in 0..200 {
        let mut world = world(&stormy(seed), 12, Weather::new(40, 3_000));
        world.run_for(Duration::from_secs(1));
        world.run_for(Duration::from_secs(300));
        let refused = world.faults_mut().refused > 0;
        assert_eq!(world.is_drained(), refused, "seed {seed}: {}", world.probe().text());
        check(&world);
    }
}

#[test]
fn a_seed_decides_everything_and_another_seed_something_else() {
    let digest = |seed: u64| {
        let config = WorldConfig { seed, ..stormy(7) };
        let mut world = world(&config, 12, Weather::new(0, 20_000));
        world.run_for(Duration::from_secs(1));
        (world.probe().digest(), world.steps(), world.now())
    };
    assert_eq!(digest(1), digest(1));
    assert_ne!(digest(1), digest(2));
}

#[test]
fn a_listener_that_stops_releasing_stops_the_sender_and_nothing_else() {
    // 10 + 1 receives and 2 more that may be borrowed: the sender ends with nothing to spend and no error.
    struct Hoarder(Vec<smbd_core::Fragment>);
    impl Upper for Hoarder {
        fn event(&mut self, event: Event, _: &mut Context<'_>) {
            if let Event::Data(fragment) = event {
                self.0.push(fragment);
            }
        }
    }
    let personality = Personality::Roce;
    let uppers: [Box<dyn Upper>; 2] = [Box::new(Listener), Box::new(Hoarder(Vec::new()))];
    let hosts = uppers.map(|upper| host(personality, upper));
    let mut world = World::new(&WorldConfig::new(1, personality), hosts, NoFaults, ());
    world.run_for(Duration::from_millis(1));
    world
        .command(Side::Initiator, |_, context| context.send_bytes(&[1; 30_000], None))
        .expect("room for one message");
    world.run_for(Duration::from_secs(1));
    let borrowed = world.connection(Side::Acceptor).map(|c| c.outstanding().borrowed);
    assert!(borrowed.is_some_and(|borrowed| (10..=13).contains(&borrowed)), "{borrowed:?}");
    assert_eq!(world.connection(Side::Initiator).map(|c| c.credits().send()), Some(0));
    assert_eq!(world.breaches().count(), 0);
}

#[test]
fn work_errors_of_the_fault_table_reach_the_connection() {
    struct NoRegistration;
    impl Faults for NoRegistration {
        fn fail_registration(&mut self, _: Instant, _: Side, _: &mut Rng) -> Option<WorkError> {
            Some(WorkError::LocalProtection)
        }
    }
    let mut world = world(&WorldConfig::new(1, Personality::Roce), 0, NoRegistration);
    world.run_for(Duration::from_millis(1));
    world.command(Side::Initiator, |_, context| {
        let buffer = context.memory().alloc(100);
        let range = context.memory().whole(buffer).expect("just allocated");
        context.register(smbd_core::Access::Read, range, 1).expect("there is room");
    });
    world.run_for(Duration::from_millis(1));
    let events = &world.host(Side::Initiator).upper.events;
    assert!(
        events.last().is_some_and(|e| e.contains("Registered") && e.contains("LocalProtection")),
        "{events:?}"
    );
    let nic = &world.host(Side::Initiator).device.nic;
    assert_eq!(nic.tokens.live(nic.domain()).count(), 0);
    check(&world);
}
