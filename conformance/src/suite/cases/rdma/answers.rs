//! Answers of an SMB2 server to READs and WRITEs by RDMA: which token they invalidate.

use smbd_core::{Access, RdmaVerb, Token};
use smbd_smb2::wire::{Elements, NtStatus};
use smbd_tools::exercise::Answer;

use crate::suite::ByRdma;
use crate::suite::rig::Ability;
use crate::suite::{Peer, Play, Registered, Stop, Whole, pattern};

/// The answer has the token.
const ASKED: &str = "3.1.4.2-05 3.1.5.1-15";
/// Bytes of each of the two buffers, and of what is asked for.
const LEN: u32 = 4096;
const BOTH: u32 = 2 * LEN;

/// How a request ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Done,
    /// More is asked for than the buffers hold.
    TooLong,
    /// The file ends before.
    BeyondFile,
}

/// What was registered, the second buffer behind the first.
struct Buffers {
    all: [Registered; 2],
}

impl Buffers {
    fn asked(&self, verb: RdmaVerb, end: End) -> ByRdma {
        let descriptors = self.all.iter().flat_map(|buffer| buffer.descriptors.iter().copied());
        let asked = ByRdma::new(verb, BOTH, descriptors.collect());
        match end {
            End::Done => asked,
            End::TooLong => ByRdma { length: BOTH + 1, ..asked },
            End::BeyondFile => asked.behind_the_end(),
        }
    }
}

/// The answer, and no other message since, invalidated the first token and no other.
fn invalidates(peer: &mut Peer<'_>, buffers: &Buffers, whole: &Whole, step: &str) {
    if !peer.play().can(Ability::Invalidation) {
        return;
    }
    let first = buffers.all[0].descriptors.first().map(|descriptor| descriptor.token);
    let all = whole.fragments.iter().chain(&whole.empties);
    let tokens: Vec<_> = all.filter_map(|seen| seen.message.invalidated).collect();
    peer.check(ASKED, tokens.iter().copied().eq(first), || {
        let all = |tokens: &[Token]| tokens.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let wanted = all(first.as_slice());
        format!("{step}: the answer should invalidate {wanted}, invalidated were: {}", all(&tokens))
    });
}

/// Interim answers invalidate nothing: the client waits, and its memory is in use.
fn interim(peer: &mut Peer<'_>, whole: &Whole) {
    let pending = |whole: &Whole| {
        let status = Elements::new(&whole.payload).flatten().map(|element| element.header.status).next();
        status == Some(NtStatus::PENDING)
    };
    let invalidated = whole.fragments.iter().any(|seen| seen.message.invalidated.is_some());
    peer.check(ASKED, !(pending(whole) && invalidated), || {
        "an interim answer should invalidate nothing, it did".into()
    });
}

pub(super) fn of_smb2(play: &mut Play) -> Result<(), Stop> {
    for verb in [RdmaVerb::Write, RdmaVerb::Read] {
        for end in [End::Done, End::TooLong, End::BeyondFile] {
            if (verb, end) == (RdmaVerb::Read, End::BeyondFile) {
                // A file grows with what is written behind its end.
                continue;
            }
            let step = format!("RDMA {verb:?}, {end:?}");
            play.step(&step);
            let mut peer = play.established()?;
            let first = peer.register(&pattern(96, LEN as usize), Access::ReadWrite)?;
            let second = peer.register(&pattern(97, LEN as usize), Access::ReadWrite)?;
            let buffers = Buffers { all: [first, second] };
            peer.has_content(u64::from(BOTH))?;
            let (answer, whole) = peer.by_rdma(ASKED, &buffers.asked(verb, end))?;
            let is_error = matches!(answer, Answer::Failed(_));
            // What becomes of more than the buffers hold is for another case.
            let right = end == End::TooLong || is_error == (end == End::BeyondFile);
            peer.check("", right, || format!("{step}: the answer is {answer:?}"));
            invalidates(&mut peer, &buffers, &whole, &step);
            for early in peer.passed_over() {
                interim(&mut peer, &early);
            }
            // The other buffer is as it was.
            let [_, second] = &buffers.all;
            let asked = ByRdma::new(verb, LEN, second.descriptors.clone());
            let (answer, _) = peer.by_rdma(ASKED, &ByRdma { invalidate: false, ..asked })?;
            let done = !matches!(answer, Answer::Failed(_));
            peer.check(ASKED, done, || {
                format!("{step}: the second buffer should work behind it, the answer is {answer:?}")
            });
            peer.returns(ASKED)?;
        }
    }
    Ok(())
}
