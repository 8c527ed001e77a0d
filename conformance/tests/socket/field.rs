//! Plays cases against implementations that speak over sockets, many at once: most of a play is waiting.

use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use smbd_conformance::catalogue::{Case, Catalogue, UnderTest};
use smbd_conformance::socket::Address;
use smbd_conformance::suite::rig::Target;
use smbd_conformance::suite::rig::socket::{Foreign, Remote, Trigger};
use smbd_conformance::suite::{Choice, Options, Outcome, Played, Uppers, cases, detect, play};

/// Plays at the same time.
const AT_ONCE: usize = 24;
/// As in the program, beyond the time of a case.
const LIMIT: Duration = Duration::from_secs(180);

/// An implementation in one role, one for each seat or one for all.
pub trait Implementation: Sync {
    /// Makes it accept at an address, for all seats.
    fn accept(&self, at: &Address);

    /// Makes it connect to an address again and again, for one seat.
    fn connect(&self, to: &Address);
}

/// A path for a socket that nothing else uses.
pub fn path(name: &str) -> Address {
    let file = format!("smbd-{}-{name}.sock", std::process::id());
    Address::Unix(std::env::temp_dir().join(file))
}

/// Whether cases that wait for timers are played: they take minutes.
pub fn with_timers() -> bool {
    std::env::var_os("SOCKET_TIMERS").is_some()
}

/// Plays these cases against an implementation in a role.
pub fn plays(
    name: &str,
    implementation: &dyn Implementation,
    role: UnderTest,
    chosen: impl Fn(&Case) -> bool,
) -> Vec<Played> {
    let catalogue = Catalogue::load().unwrap();
    let mut wanted: Vec<_> =
        catalogue.cases.iter().filter(|case| case.role.includes(role) && chosen(case)).collect();
    // The longest begin first; they are at the end of the list.
    wanted.sort_by_key(|case| case.time);
    let seats = wanted.len().min(AT_ONCE);
    let accepts = role == UnderTest::Acceptor;
    if accepts {
        implementation.accept(&path(name));
    }
    let (left, played) = (Mutex::new(wanted), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for seat in 0..seats {
            let (left, played) = (&left, &played);
            scope.spawn(move || {
                let mut target = target(name, implementation, role, seat);
                let upper = detect(&mut *target, role, &Choice { echo: true, ..Choice::default() });
                let uppers = Uppers::default().with(role, upper);
                let options =
                    Options { timers: with_timers(), limit: Some(LIMIT), uppers, ..Options::default() };
                loop {
                    let next = left.lock().unwrap().pop();
                    let Some(case) = next else { return };
                    let Some(entry) = cases::find(&case.name) else { continue };
                    let done = play(&mut *target, 0, (case, entry), role, &options);
                    played.lock().unwrap().push(done);
                }
            });
        }
    });
    played.into_inner().unwrap()
}

fn target(name: &str, implementation: &dyn Implementation, role: UnderTest, seat: usize) -> Box<dyn Target> {
    if role == UnderTest::Acceptor {
        return Box::new(Foreign::acceptor(path(name), Remote::default()));
    }
    let at = path(&format!("{name}-{seat}"));
    implementation.connect(&at);
    Box::new(Foreign::initiator(at, Trigger::default(), Remote::default()))
}

/// What failed, with its findings and messages.
pub fn failures(played: &[Played]) -> Vec<String> {
    let bad = |played: &&Played| matches!(played.outcome, Outcome::Failed | Outcome::NotJudged(_));
    played.iter().filter(bad).map(told).collect()
}

fn told(played: &Played) -> String {
    let Played { case, role, outcome, trace, .. } = played;
    let findings = played.findings.iter();
    let findings = findings.map(|finding| format!("\n  {} ({})", finding.text, finding.statements.join(" ")));
    format!("{case}, {role}, {outcome:?}:{}\n{trace}", findings.collect::<String>())
}
