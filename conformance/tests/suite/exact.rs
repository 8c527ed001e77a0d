//! A subject that is wrong in one thing breaks the statements about that, and no other: in all cases, as either side.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use smbd_conformance::catalogue::{Catalogue, UnderTest};
use smbd_conformance::suite::{Options, Outcome, SIDES, cases, play};

use super::tampered::{Credits, Keeps, Says, Stays, Tamper, Tampered, Wrong, accepts, put, word};

/// What is wrong, how, and the statements that are broken by it: as acceptor, and as initiator.
struct Peer {
    name: &'static str,
    wrong: Wrong,
    acceptor: &'static str,
    initiator: &'static str,
}

impl Peer {
    const fn sides(
        name: &'static str,
        wrong: Wrong,
        acceptor: &'static str,
        initiator: &'static str,
    ) -> Self {
        Self { name, wrong, acceptor, initiator }
    }

    /// Either side breaks these.
    const fn either(name: &'static str, wrong: Wrong, broken: &'static str) -> Self {
        Self::sides(name, wrong, broken, broken)
    }

    /// An acceptor breaks these, an initiator nothing.
    const fn accepting(name: &'static str, wrong: Wrong, broken: &'static str) -> Self {
        Self::sides(name, wrong, broken, "")
    }

    /// An initiator breaks these, an acceptor nothing.
    const fn connecting(name: &'static str, wrong: Wrong, broken: &'static str) -> Self {
        Self::sides(name, wrong, "", broken)
    }
}

/// Messages are changed, by their number.
macro_rules! says {
    ($change:expr) => {
        || Box::new(Says($change))
    };
}

/// The response that accepts is changed.
macro_rules! response {
    ($at:expr, $with:expr) => {
        says!(|index, bytes| {
            if accepts(index, bytes) {
                put(bytes, $at, $with);
            }
        })
    };
}

/// Data messages with payload, or without, are changed.
macro_rules! data {
    ($with_payload:expr, $change:expr) => {
        says!(|index, bytes| {
            if index > 0 && (word(bytes, 16, 4) > 0) == $with_payload {
                let change: fn(&mut Vec<u8>) = $change;
                change(bytes);
            }
        })
    };
}

const PEERS: &[Peer] = &[
    Peer::accepting("PreferredSendSize is too large", response!(20, [0, 0, 1, 0]), "2.2.2-19"),
    Peer::accepting("MaxVersion is 0x0101", response!(2, [1, 1]), "2.2.2-06 3.1.5.3-03"),
    Peer::accepting("MinVersion is 0x0101", response!(0, [1, 1]), "2.2.2-03 2.2.2-05 3.1.5.3-02"),
    Peer::accepting("NegotiatedVersion is 0", response!(4, [0, 0]), "2.2.2-09 3.1.5.3-09"),
    Peer::accepting("Reserved of the response is not 0", response!(6, [7, 0]), "2.2-06 2.2.2-11 3.1.5.3-04"),
    Peer::accepting("CreditsRequested is 0", response!(8, [0, 0]), "3.1.5.7-06"),
    Peer::accepting("CreditsGranted is 0", response!(10, [0, 0]), "3.1.5.6-16 3.1.5.7-05"),
    Peer::accepting(
        "an error as Status of a response that accepts",
        response!(12, [1, 0, 0, 0xC0]),
        "2.2.2-16",
    ),
    Peer::accepting("MaxReceiveSize is below 128", response!(24, [100, 0, 0, 0]), "3.1.5.7-03"),
    Peer::accepting("MaxFragmentedSize is too small", response!(28, [0xFF, 0xFF, 1, 0]), "3.1.5.7-04"),
    Peer::accepting(
        "the response has 31 bytes",
        says!(|index, bytes| {
            if index == 0 && bytes.len() == 32 {
                bytes.truncate(31)
            }
        }),
        "2.2.2-01",
    ),
    Peer::accepting(
        "another status than that of refused versions",
        says!(|index, bytes| {
            if index == 0 && bytes.len() == 32 && !accepts(0, bytes) {
                put(bytes, 12, [1, 0, 0, 0xC0])
            }
        }),
        "3.1.5.6-04",
    ),
    Peer::connecting(
        "a request with Reserved 7",
        says!(|index, bytes| {
            if index == 0 && bytes.len() == 20 {
                put(bytes, 4, [7, 0])
            }
        }),
        "2.2-06 2.2.1-09 3.1.5.2-04",
    ),
    Peer::either("probes are not answered", || Box::new(NoAnswer::default()), "3.1.5.8-14"),
    Peer::either("each probe is answered twice", || Box::new(Twice::default()), "3.1.5.1-19"),
    Peer::either(
        "nothing is returned",
        || Box::new(Keeps(|index, bytes| index > 0 && word(bytes, 16, 4) > 0)),
        "3.1.5.8-24",
    ),
    Peer::either("the connection ends when data come", || Box::new(HangsUp::default()), "3.1.5.8-24"),
    Peer::sides(
        "no connection ends",
        || Box::new(Stays),
        "3.1.2.1-01 3.1.5.3-08 3.1.5.4-25 3.1.5.6-02 3.1.5.6-09 3.1.5.8-07 3.1.5.8-21 3.1.6.1-01 3.1.6.2-02",
        "3.1.2.1-01 3.1.5.4-25 3.1.5.7-09 3.1.5.8-07 3.1.6.1-01 3.1.6.2-02",
    ),
    Peer::either(
        "data begin at 28",
        data!(true, |bytes| if bytes.len() < 100 {
            shift(bytes)
        }),
        "2.2.3-15 3.1.5.4-12 3.1.5.4-14",
    ),
    Peer::either("padding is not 0", data!(true, |bytes| put(bytes, 20, [1])), "2.2-09 2.2.3-19 3.1.5.4-20"),
    Peer::either(
        "the second fragment of many says that one byte more is to come",
        || Box::new(SecondFragment::default()),
        "3.1.5.4-18",
    ),
    Peer::either("fragments are longer than they may be", || Box::new(Stretches::default()), "3.1.5.4-13"),
    Peer::either(
        "messages without data have 24 bytes",
        data!(false, |bytes| bytes.extend([0; 4])),
        "3.1.5.4-08",
    ),
    Peer::sides(
        "messages without data ask for an answer",
        data!(false, |bytes| put(bytes, 4, [1, 0])),
        "3.1.5.1-14",
        "3.1.4.1-06 3.1.5.1-14",
    ),
    Peer::either(
        "a flag that there is not",
        data!(true, |bytes| bytes[4] |= 2),
        "2.2.3-05 2.2.3-07 3.1.5.1-14",
    ),
    Peer::either(
        "messages with data ask for no credits",
        data!(true, |bytes| put(bytes, 0, [0, 0])),
        "3.1.5.1-10 3.1.5.8-03",
    ),
    Peer::sides(
        "nothing is granted behind the negotiation",
        says!(|index, bytes| {
            if index > 0 {
                put(bytes, 2, [0, 0])
            }
        }),
        "3.1.5.1-05 3.1.5.1-07 3.1.5.8-09 3.1.5.9-09 3.1.6.2-02",
        "3.1.5.1-07 3.1.5.7-18 3.1.5.8-09 3.1.6.2-02",
    ),
    Peer::sides(
        "each message grants one more than it should, and has a receive for it in reserve",
        says!(|index, bytes| {
            if index > 0 {
                grant_more(bytes, 1)
            }
        }),
        "3.1.5.8-09 3.1.5.8-12 3.1.5.9-02",
        // What it sends beyond the receives is lost, and what should be seen behind it.
        "3.1.5.7-11 3.1.5.7-18 3.1.5.8-09 3.1.5.8-12 3.1.5.8-24 3.1.5.9-02 3.1.5.9-08",
    ),
    Peer::sides(
        "each message grants two more than it should",
        says!(|index, bytes| {
            if index > 0 {
                grant_more(bytes, 2)
            }
        }),
        "3.1.5.8-12 3.1.5.9-02 3.1.5.9-08",
        "3.1.5.7-11 3.1.5.7-18 3.1.5.8-09 3.1.5.8-12 3.1.5.8-24 3.1.5.9-02 3.1.5.9-08",
    ),
    Peer::either("messages without a credit", || Box::new(Overdraws::default()), "3.1.5.1-06"),
    Peer::accepting("messages that say nothing", || Box::new(Floods::default()), "3.1.5.1-19"),
];

/// Some credits more than it should. The core has a receive in reserve: for two more there is none.
fn grant_more(bytes: &mut [u8], more: u16) {
    let granted = u16::try_from(word(bytes, 2, 2)).unwrap_or(u16::MAX);
    put(bytes, 2, granted.saturating_add(more).to_le_bytes());
}

/// Payload 4 bytes later, behind more padding.
fn shift(bytes: &mut Vec<u8>) {
    bytes.splice(24..24, [0; 4]);
    put(bytes, 12, [28, 0, 0, 0]);
}

/// Whether the script asks for an answer and nothing else.
fn is_probe(index: u64, bytes: &[u8]) -> bool {
    index > 0 && word(bytes, 4, 2) & 1 == 1 && word(bytes, 16, 4) == 0
}

/// Answers to probes are lost.
#[derive(Default)]
struct NoAnswer {
    asked: bool,
}

impl Tamper for NoAnswer {
    fn said(&mut self, index: u64, bytes: &mut Vec<u8>) -> Vec<Vec<u8>> {
        self.asked |= is_probe(index, bytes);
        Vec::new()
    }

    fn came(&mut self, index: u64, bytes: Vec<u8>) -> Vec<(Duration, Vec<u8>)> {
        if index > 0 && bytes.len() == 20 && std::mem::take(&mut self.asked) {
            return Vec::new();
        }
        vec![(Duration::ZERO, bytes)]
    }
}

/// Answers to probes come twice, if there is a credit for that, and the second grants nothing.
#[derive(Default)]
struct Twice {
    asked: bool,
    credits: Credits,
}

impl Tamper for Twice {
    fn said(&mut self, index: u64, bytes: &mut Vec<u8>) -> Vec<Vec<u8>> {
        self.credits.said(index, bytes);
        self.asked |= is_probe(index, bytes);
        Vec::new()
    }

    fn came(&mut self, index: u64, bytes: Vec<u8>) -> Vec<(Duration, Vec<u8>)> {
        self.credits.came(index);
        let mut all = vec![(Duration::ZERO, bytes.clone())];
        let answers = index > 0 && bytes.len() == 20 && std::mem::take(&mut self.asked);
        if answers && self.credits.0 > 1 {
            self.credits.came(index);
            let mut again = bytes;
            put(&mut again, 2, [0, 0]);
            all.push((Duration::ZERO, again));
        }
        all
    }
}

/// It ends the connection when data come.
#[derive(Default)]
struct HangsUp {
    data: bool,
}

impl Tamper for HangsUp {
    fn said(&mut self, index: u64, bytes: &mut Vec<u8>) -> Vec<Vec<u8>> {
        self.data |= index > 0 && word(bytes, 16, 4) > 0;
        Vec::new()
    }

    fn hangs_up(&self) -> bool {
        self.data
    }
}

/// RemainingDataLength is one too many in each second fragment that is not the last.
#[derive(Default)]
struct SecondFragment {
    within: u32,
}

impl Tamper for SecondFragment {
    fn came(&mut self, index: u64, mut bytes: Vec<u8>) -> Vec<(Duration, Vec<u8>)> {
        if index > 0 && word(&bytes, 16, 4) > 0 {
            let remaining = word(&bytes, 8, 4);
            self.within = if remaining == 0 { 0 } else { self.within + 1 };
            if self.within == 2 {
                put(&mut bytes, 8, (remaining + 1).to_le_bytes());
            }
        }
        vec![(Duration::ZERO, bytes)]
    }
}

/// The first fragment of a message that is returned has 8 bytes more than it may, and the last so many fewer.
#[derive(Default)]
struct Stretches {
    /// What the script has sent, and what of it is not whole yet.
    sent: VecDeque<Vec<u8>>,
    unfinished: Vec<u8>,
    /// How much of the message that is returned has come, and how much of it the script got.
    came: usize,
    passed_on: usize,
}

impl Tamper for Stretches {
    fn said(&mut self, index: u64, bytes: &mut Vec<u8>) -> Vec<Vec<u8>> {
        let (offset, length) = (word(bytes, 12, 4) as usize, word(bytes, 16, 4) as usize);
        let payload = bytes.get(offset..offset.saturating_add(length)).filter(|_| index > 0 && length > 0);
        if let Some(payload) = payload {
            self.unfinished.extend_from_slice(payload);
            if word(bytes, 8, 4) == 0 {
                self.sent.push_back(std::mem::take(&mut self.unfinished));
            }
        }
        Vec::new()
    }

    fn came(&mut self, index: u64, mut bytes: Vec<u8>) -> Vec<(Duration, Vec<u8>)> {
        let (length, remaining) = (word(&bytes, 16, 4) as usize, word(&bytes, 8, 4));
        if index == 0 || length == 0 {
            return vec![(Duration::ZERO, bytes)];
        }
        let begin = self.came;
        self.came += length;
        let whole = self.sent.front().cloned().unwrap_or_default();
        if remaining == 0 {
            self.sent.pop_front();
            self.came = 0;
        }
        if whole.get(begin..begin + length) != Some(&bytes[24..]) {
            return vec![(Duration::ZERO, bytes)];
        }
        let more = if begin == 0 && remaining > 1000 { 8 } else { 0 };
        let from = if begin == 0 { 0 } else { self.passed_on };
        let to = (from + length + more).min(whole.len());
        self.passed_on = to;
        if to <= from {
            return Vec::new();
        }
        bytes.truncate(24);
        bytes.extend_from_slice(&whole[from..to]);
        put(&mut bytes, 8, u32::try_from(whole.len() - to).unwrap().to_le_bytes());
        put(&mut bytes, 16, u32::try_from(to - from).unwrap().to_le_bytes());
        vec![(Duration::ZERO, bytes)]
    }
}

/// It sends a message when it has no credit left.
#[derive(Default)]
struct Overdraws {
    credits: Credits,
    done: bool,
}

impl Tamper for Overdraws {
    fn said(&mut self, index: u64, bytes: &mut Vec<u8>) -> Vec<Vec<u8>> {
        self.credits.said(index, bytes);
        let plain = index > 0 && bytes.len() == 20 && word(bytes, 0, 2) > 0 && word(bytes, 4, 2) == 0;
        if plain && self.credits.0 <= 0 && !self.done {
            self.done = true;
            return vec![empty()];
        }
        Vec::new()
    }

    fn came(&mut self, index: u64, bytes: Vec<u8>) -> Vec<(Duration, Vec<u8>)> {
        self.credits.came(index);
        vec![(Duration::ZERO, bytes)]
    }
}

/// A message that says nothing.
fn empty() -> Vec<u8> {
    let mut bytes = vec![0; 20];
    bytes[0] = 255;
    bytes
}

/// It keeps three credits for messages that say nothing, and sends them as soon as it can.
#[derive(Default)]
struct Floods {
    kept: u16,
}

impl Tamper for Floods {
    fn said(&mut self, index: u64, bytes: &mut Vec<u8>) -> Vec<Vec<u8>> {
        let granted = u16::try_from(word(bytes, 2, 2)).unwrap_or_default();
        if index > 0 && (8..300).contains(&granted) {
            let some = 3 - self.kept;
            self.kept += some;
            put(bytes, 2, (granted - some).to_le_bytes());
        }
        Vec::new()
    }

    fn came(&mut self, index: u64, bytes: Vec<u8>) -> Vec<(Duration, Vec<u8>)> {
        let last = index > 0 && word(&bytes, 8, 4) == 0;
        let mut again = empty();
        again[..2].copy_from_slice(&bytes[..2]);
        let mut all = vec![(Duration::ZERO, bytes)];
        if last {
            all.extend((0..std::mem::take(&mut self.kept)).map(|_| (Duration::ZERO, again.clone())));
        }
        all
    }
}

/// What takes long and sees nothing that others do not.
const LONG: [&str; 9] = [
    "limits::noise_ends_a_connection_and_nothing_else",
    "examples::peer_reads_1_mib",
    "SmbdDataTransfer_SmallLengthSegment",
    "rdma::nothing_is_open_when_deregistration_is_done",
    "rdma::descriptors_cover_the_buffer_once_and_in_order",
    "rdma::a_deregistration_that_fails_is_told",
    "rdma::reads_stay_within_the_depth_agreed",
    "rdma::a_registration_that_fails_leaves_nothing_open",
    "rdma::any_number_of_descriptors_is_used",
];

/// The statements that one side of a peer breaks, each with a case and a finding.
fn broken(wrong: Wrong, role: UnderTest, catalogue: &Catalogue) -> (BTreeMap<String, String>, Vec<String>) {
    let mut broken = BTreeMap::new();
    let mut unclear = Vec::new();
    for entry in cases::all().filter(|entry| !LONG.contains(&entry.name)) {
        let Some(case) = catalogue.case(entry.name).filter(|case| case.role.includes(role)) else { continue };
        if std::env::var("TALK").is_ok() {
            eprintln!("{role} {}", entry.name);
        }
        let played = play(&mut Tampered(wrong), 0, (case, entry), role, &Options::default());
        for finding in &played.findings {
            for id in &finding.statements {
                let told = || format!("{id}: {}: {}", played.case, finding.text);
                broken.entry(id.clone()).or_insert_with(told);
            }
            if finding.statements.is_empty() {
                unclear.push(format!("{role}, {}: {}", played.case, finding.text));
            }
        }
        if let Outcome::NotJudged(why) = &played.outcome {
            assert_ne!(why.case.as_ref(), Some(&played.case), "a case that cannot be judged names itself");
        }
    }
    (broken, unclear)
}

/// Whether what is broken is what is listed, and nothing else.
fn is_exact(peer: &Peer, catalogue: &Catalogue) -> Vec<String> {
    let mut wrong = Vec::new();
    for (role, listed) in SIDES.into_iter().zip([peer.acceptor, peer.initiator]) {
        let (found, unclear) = broken(peer.wrong, role, catalogue);
        let listed: BTreeSet<_> = listed.split_whitespace().collect();
        let named: BTreeSet<_> = found.keys().map(String::as_str).collect();
        let more = named.difference(&listed).map(|id| format!("  {role}, not listed: {}", found[*id]));
        wrong.extend(more);
        wrong.extend(listed.difference(&named).map(|id| format!("  {role}, not named: {id}")));
        wrong.extend(unclear.into_iter().map(|text| format!("  about no statement: {text}")));
    }
    if !wrong.is_empty() {
        wrong.insert(0, peer.name.into());
    }
    wrong
}

#[test]
fn whoever_is_wrong_in_one_thing_breaks_the_statements_about_it_and_no_other() {
    let catalogue = Catalogue::load().unwrap();
    let only = std::env::var("PEER").ok();
    let chosen: Vec<_> =
        PEERS.iter().filter(|peer| only.as_ref().is_none_or(|only| peer.name.contains(only))).collect();
    let (one, other) = chosen.split_at(chosen.len() / 2);
    let all = |peers: &[&Peer]| -> Vec<String> {
        peers.iter().flat_map(|peer| is_exact(peer, &catalogue)).collect()
    };
    let wrong = std::thread::scope(|scope| {
        let half = scope.spawn(|| all(one));
        let rest = all(other);
        [half.join().unwrap(), rest].concat()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
