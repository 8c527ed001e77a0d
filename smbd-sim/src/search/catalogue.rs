//! The configurations that are searched.

use std::time::Duration;

use smbd_core::{Access, Keepalive, Params, RdmaVerb};

use super::setup::{Core, Delays, Do, Loss, Peer, Raw, Rules, Setup, Size};

/// Credits 4 and 2 are the least there may be: windows of 3 both ways. Messages of 128 bytes carry 104.
fn smallest() -> Params {
    Params {
        receive_credit_max: 4,
        send_credit_target: 2,
        max_send_size: 128,
        max_receive_size: 128,
        max_fragmented_recv_size: 131_072,
        max_read_write_size: 1024,
        keepalive: None,
        send_credit_timeout: None,
        borrowed_max: 0,
        message_slots: 3,
        send_slots: 4,
        rdma_ops: 1,
        rdma_slots: 1,
        read_depth: 1,
        registrations: 1,
        segments_max: 1,
        registration_slots: 1,
        ..Params::example()
    }
}

const KEEPALIVE: Keepalive =
    Keepalive { interval: Duration::from_secs(120), answer_timeout: Duration::from_secs(5) };
const PAYLOAD: u32 = 104;

/// Messages of so many fragments.
fn messages(fragments: &[u32]) -> Vec<Do> {
    fragments.iter().map(|count| Do::send(count * PAYLOAD)).collect()
}

fn core(script: Vec<Do>) -> Core {
    Core { params: smallest(), script, eager: false, hold: 0, windows: false, send_queue: None }
}

/// The initiator sends messages of so many fragments, the acceptor others; the initiator closes when it has all.
fn talk(name: &'static str, about: &'static str, initiator: &[u32], acceptor: &[u32]) -> Setup {
    let mut script = messages(initiator);
    script.extend([Do::Received(acceptor.len()), Do::Answered, Do::Flush]);
    between(name, about, core(script), core(messages(acceptor)))
}

fn between(name: &'static str, about: &'static str, initiator: Core, acceptor: Core) -> Setup {
    Setup {
        name,
        about,
        size: Size::Small,
        peers: [Peer::Core(initiator), Peer::Core(acceptor)],
        delays: Delays::Bounded,
        loss: Loss::Never,
        batches: false,
        registrations_fail: false,
        aborts: false,
        tamper: None,
    }
}

impl Setup {
    fn cores(mut self, change: impl Fn(&mut Core)) -> Self {
        for peer in &mut self.peers {
            if let Peer::Core(core) = peer {
                change(core);
            }
        }
        self
    }

    fn hold(self, hold: usize) -> Self {
        self.cores(|core| core.hold = hold)
    }

    /// A slot more: the reserve is missing only where as many are held as the window has.
    fn spare(self) -> Self {
        self.cores(|core| core.params.borrowed_max = 1)
    }

    fn eager(self) -> Self {
        self.cores(|core| core.eager = true)
    }

    fn keepalive(self) -> Self {
        self.cores(|core| {
            core.params.keepalive = Some(KEEPALIVE);
            core.params.send_credit_timeout = Some(Duration::from_secs(125));
        })
    }

    /// The initiator closes at any point, and waits for nothing.
    fn abort(mut self) -> Self {
        if let [Peer::Core(initiator), _] = &mut self.peers {
            initiator.script.retain(|command| !matches!(command, Do::Received(_) | Do::Answered | Do::Flush));
            initiator.script.push(Do::Abort);
        }
        self.aborts = true;
        self
    }

    const fn loss(mut self, loss: Loss) -> Self {
        self.loss = loss;
        self
    }

    /// All timers are of the same length, so that their distances do not multiply. One side asks for keepalive responses.
    fn any_delay(mut self) -> Self {
        const TICK: Duration = Duration::from_secs(5);
        self.delays = Delays::Any;
        if let [Peer::Core(initiator), _] = &mut self.peers {
            initiator.params.keepalive = Some(Keepalive { interval: TICK, answer_timeout: TICK });
        }
        self.cores(|core| {
            core.params.send_credit_timeout = Some(TICK);
            core.params.active_negotiation_timeout = TICK;
            core.params.passive_negotiation_timeout = TICK;
        })
    }

    const fn batches(mut self) -> Self {
        self.batches = true;
        self
    }

    /// The initiator closes while its messages are under way and sends another then, which has to be refused.
    fn afterwards(mut self) -> Self {
        if let [Peer::Core(initiator), _] = &mut self.peers {
            initiator.script.retain(|command| !matches!(command, Do::Received(_) | Do::Answered));
            initiator.script.push(Do::send(PAYLOAD));
        }
        self.aborts = true;
        self
    }

    /// The acceptor uses the buffer twice, with room for both and a read depth of 1.
    fn twice(mut self) -> Self {
        if let [_, Peer::Core(acceptor)] = &mut self.peers {
            let at = acceptor.script.iter().position(|command| matches!(command, Do::Rdma(_)));
            if let Some(at) = at {
                acceptor.script.insert(at, acceptor.script[at]);
            }
            (acceptor.params.rdma_ops, acceptor.params.rdma_slots) = (2, 2);
        }
        self
    }

    const fn failing(mut self) -> Self {
        self.registrations_fail = true;
        self
    }

    /// A device with fewer places than the budget asks for.
    fn send_queue(self, places: u16) -> Self {
        self.cores(|core| core.send_queue = Some(places))
    }

    /// Nobody waits for the results of messages.
    fn unsignalled(self) -> Self {
        self.cores(|core| {
            core.script.retain(|command| *command != Do::Answered);
            for command in &mut core.script {
                if let Do::Send { unsignalled, .. } = command {
                    *unsignalled = true;
                }
            }
        })
    }

    fn targets(mut self, initiator: u16, acceptor: u16) -> Self {
        for (peer, target) in self.peers.iter_mut().zip([initiator, acceptor]) {
            if let Peer::Core(core) = peer {
                core.params.send_credit_target = target;
                core.params.receive_credit_max = 6;
            }
        }
        self
    }

    fn against(mut self, initiates: bool, rules: Rules, messages: &[u32]) -> Self {
        let raw = Raw { rules, requested: 1, receives: 4, messages: messages.to_vec() };
        self.peers[usize::from(!initiates)] = Peer::Raw(raw);
        // It is the connection that closes.
        self.cores(|core| {
            core.script.retain(|command| !matches!(command, Do::Received(_) | Do::Answered | Do::Flush));
            core.script.extend([Do::Received(messages.len()), Do::Answered, Do::Flush]);
        })
    }
}

/// The initiator lets the acceptor use a buffer, which says so in two fragments, with an invalidation or without.
fn rdma(name: &'static str, about: &'static str, verb: RdmaVerb, windows: bool, invalidates: bool) -> Setup {
    let access = match verb {
        RdmaVerb::Read => Access::Read,
        RdmaVerb::Write => Access::Write,
    };
    let asks = vec![
        Do::Register(access),
        Do::Send { len: PAYLOAD, tells: true, invalidates: false, unsignalled: false },
        Do::Received(1),
        Do::Deregister,
        Do::Answered,
        Do::Flush,
    ];
    let mut serves = vec![Do::Received(1), Do::Rdma(verb)];
    if verb == RdmaVerb::Read {
        // The buffer is the peer's again when it has the answer.
        serves.push(Do::Answered);
    }
    serves.push(Do::Send { len: 2 * PAYLOAD, tells: false, invalidates, unsignalled: false });
    between(name, about, core(asks), core(serves)).cores(|core| core.windows = windows)
}

/// Everything that is searched, the small ones first.
#[must_use]
pub fn all() -> Vec<Setup> {
    [small(), medium(), large(), huge()].concat()
}

/// Of a few thousand states each.
fn small() -> Vec<Setup> {
    let sleeper = vec![Do::send(PAYLOAD), Do::Sleep(Duration::from_secs(400)), Do::Flush];
    let silence = "a message, then three idle intervals with keepalive";
    let prober = vec![Do::Probe, Do::send(PAYLOAD), Do::Answered, Do::Probe, Do::Answered, Do::Flush];
    let probes = "two probes and a message, with keepalive";
    vec![
        talk("one-each", "a message of one fragment each way", &[1], &[1]),
        talk("there", "messages of one, two and three fragments to the acceptor", &[1, 2, 3], &[]),
        talk("back", "messages of three, two and one fragment to the initiator", &[], &[3, 2, 1]),
        talk("eager", "two fragments and one, both ways, commanded in the drain loop", &[2, 1], &[2, 1])
            .eager(),
        talk("targets", "two fragments each way, targets of 2 and 5", &[2], &[2]).targets(2, 5),
        talk("sizes", "two fragments each way, to a peer that takes less than is sent", &[2], &[2])
            .cores(|core| core.params.max_send_size = 200),
        talk("afterwards", "a fragment each way, and one that is commanded after the close", &[1], &[1])
            .afterwards(),
        talk("room", "two messages each way, and room for one", &[1, 1], &[1, 1])
            .cores(|core| core.params.message_slots = 1),
        talk(
            "unsignalled",
            "messages of two fragments and one, whose results nobody waits for",
            &[2, 1],
            &[2, 1],
        )
        .unsignalled(),
        talk("unsignalled-hold", "two fragments each way, the same, upper layers hold two", &[2], &[2])
            .unsignalled()
            .hold(2),
        between("silence", silence, core(sleeper), core(vec![])).keepalive(),
        between("probe", probes, core(prober), core(vec![])).keepalive(),
        talk("loss", "one message each way, the connection lost at any point", &[1], &[1]).loss(Loss::Told),
        talk("silent-loss", "the same, nobody told, with keepalive", &[1], &[1])
            .keepalive()
            .loss(Loss::Silent),
        rdma("write", "register, RDMA Write, answer with invalidation", RdmaVerb::Write, false, true),
        rdma("read", "register, RDMA Read, answer, deregister", RdmaVerb::Read, false, false),
        rdma("window", "RDMA Write to a window that the answer invalidates", RdmaVerb::Write, true, true),
        rdma(
            "window-local",
            "RDMA Read from a window that its owner invalidates",
            RdmaVerb::Read,
            true,
            false,
        ),
        rdma("window-loss", "the window, the connection lost at any point", RdmaVerb::Write, true, true)
            .loss(Loss::Told),
        rdma("write-eager", "two writes and their answer commanded at once", RdmaVerb::Write, false, true)
            .twice()
            .eager(),
        rdma("reads", "two RDMA Reads, one at a time", RdmaVerb::Read, false, false).twice(),
        rdma("writes-loss", "two RDMA Writes, lost at any point", RdmaVerb::Write, false, true)
            .twice()
            .loss(Loss::Told),
        rdma("short-writes", "two RDMA Writes, send queues of two places", RdmaVerb::Write, false, true)
            .twice()
            .send_queue(2),
        rdma("write-fails", "RDMA Write, the registration may fail", RdmaVerb::Write, false, true).failing(),
        rdma("short-queue", "the window, send queues of two places", RdmaVerb::Write, true, true)
            .send_queue(2),
        talk("frugal-client", "three fragments to a client that asks for one credit", &[], &[3]).against(
            true,
            Rules::Sound,
            &[50],
        ),
        talk("frugal-server", "three fragments to a server that asks for one credit", &[3], &[]).against(
            false,
            Rules::Sound,
            &[50],
        ),
    ]
}

/// Of up to a million.
fn medium() -> Vec<Setup> {
    let late = "keepalive and an end in good order, any of it later than any timer";
    let setups = vec![
        talk("two-each", "messages of two fragments and one, both ways", &[2, 1], &[2, 1]),
        talk("hold", "two fragments each way, upper layers hold two of three receives", &[2], &[2]).hold(2),
        talk("batches", "two fragments and one, inputs in batches of any size", &[2], &[1]).batches(),
        talk("abort", "two fragments each way, closed at once at any point", &[2], &[2]).abort(),
        between("late", late, core(vec![Do::Flush]), core(vec![])).any_delay(),
        talk("three-each", "messages of one, two and three fragments each way", &[1, 2, 3], &[1, 2, 3]),
        talk("two-loss", "two fragments and one, the connection lost at any point", &[2, 1], &[1])
            .loss(Loss::Told),
        rdma("window-batches", "the window, lost at any point, in batches", RdmaVerb::Write, true, true)
            .batches()
            .loss(Loss::Told),
        talk(
            "silent-two",
            "two fragments and one, held, lost and nobody told, with keepalive",
            &[2, 1],
            &[1],
        )
        .keepalive()
        .hold(1)
        .loss(Loss::Silent),
        talk("frugal-hold", "two fragments each way, the client asks for one credit, both hold", &[2], &[2])
            .against(true, Rules::Sound, &[50, 50])
            .hold(2),
        rdma(
            "short-queue-loss",
            "the window, send queues of two places, lost at any point",
            RdmaVerb::Read,
            true,
            false,
        )
        .send_queue(2)
        .batches()
        .loss(Loss::Told),
    ];
    setups.into_iter().map(|setup| Setup { size: Size::Medium, ..setup }).collect()
}

/// Of minutes.
fn large() -> Vec<Setup> {
    let prober = vec![Do::Probe, Do::send(PAYLOAD), Do::Answered, Do::Flush];
    let late = "a probe and a message, any of it later than any timer";
    let setups = vec![
        talk(
            "three-hold",
            "three messages each way, upper layers hold two of three receives",
            &[3, 2, 1],
            &[1, 2, 3],
        )
        .hold(2)
        .spare(),
        talk("three-hold-all", "the same, they hold all three", &[3, 2, 1], &[1, 2, 3]).hold(3).spare(),
        talk("four-loss", "two messages each way, held, the connection lost at any point", &[2, 1], &[1, 2])
            .loss(Loss::Told)
            .hold(2),
        talk("four-batches", "two messages of two fragments each way, in batches", &[2, 2], &[2, 2])
            .batches(),
        talk("hold-batches-loss", "two fragments each way, held, in batches, lost at any point", &[2], &[2])
            .batches()
            .hold(2)
            .loss(Loss::Told),
        between("late-probe", late, core(prober), core(vec![])).any_delay(),
        talk("late-each", "a fragment each way, any of it later than any timer", &[1], &[1]).any_delay(),
        talk(
            "three-loss",
            "three messages each way, the connection lost at any point",
            &[1, 2, 3],
            &[1, 2, 3],
        )
        .loss(Loss::Told),
        talk(
            "targets-loss",
            "two messages each way, held, targets of 2 and 5, lost at any point",
            &[2, 1],
            &[1, 2],
        )
        .targets(2, 5)
        .hold(2)
        .loss(Loss::Told),
    ];
    setups.into_iter().map(|setup| Setup { size: Size::Large, ..setup }).collect()
}

/// Of more memory than most have.
fn huge() -> Vec<Setup> {
    let about = "three messages each way, held, the connection lost at any point";
    let held = |name, about| talk(name, about, &[3, 2, 1], &[1, 2, 3]).loss(Loss::Told);
    let setups = vec![
        held("three-hold-loss", about).hold(2).spare(),
        held("three-hold-all-loss", "the same, they hold all three receives").hold(3).spare(),
    ];
    setups.into_iter().map(|setup| Setup { size: Size::Huge, ..setup }).collect()
}

/// One of them.
#[must_use]
pub fn named(name: &str) -> Option<Setup> {
    all().into_iter().find(|setup| setup.name == name)
}
