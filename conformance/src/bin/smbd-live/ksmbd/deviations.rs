//! The edges of negotiation. Where ksmbd does otherwise than MS-SMBD, the test says so and holds it to what it does: a
//! kernel that mends it makes the test fail, and gets figures of its own in [`crate::linux`].

use smbd_core::Instant;
use smbd_core::error::{ConnectError, Violation};
use smbd_core::wire::{NegotiateRequest, status};
use smbd_verbs::Clock;
use smbd_verbs::blocking::Failure as CallFailure;

use super::doctored::{ORDINARY, Verdict, verdict};
use super::{connect_here, smb2_and_close};
use crate::case::{Case, Context, Failure, Outcome, Target};
use crate::expect::same;
use crate::linux::{Ksmbd, Linux};
use crate::settings;

pub(super) const CASES: &[Case] = &[
    Case {
        name: "ksmbd::deviations::least_sizes",
        target: Target::Ksmbd,
        about: "the least MaxReceiveSize and MaxFragmentedSize that are taken: those allowed, or one more (6.12)",
        run: least_sizes,
    },
    Case {
        name: "ksmbd::deviations::preferred_send_size",
        target: Target::Ksmbd,
        about: "a PreferredSendSize below 1029 gets a response with sizes that are not allowed",
        run: preferred_send_size,
    },
    Case {
        name: "ksmbd::deviations::versions",
        target: Target::Ksmbd,
        about: "version ranges without 1.0 are refused with a status",
        run: versions,
    },
    Case {
        name: "ksmbd::deviations::lengths",
        target: Target::Ksmbd,
        about: "a request of 19 bytes is hung up on, one of 512 is taken",
        run: lengths,
    },
];

/// How ksmbd took a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Took {
    /// With success.
    Yes,
    /// It answered with a status.
    Status(u32),
    /// It ended the connection without an answer, or tried to.
    HungUp,
    /// Anything else.
    Other,
}

impl Took {
    fn by(ksmbd: &Ksmbd, verdict: &Verdict) -> Self {
        match verdict {
            Verdict::Taken(_) => Self::Yes,
            Verdict::Refused(CallFailure::Connect(ConnectError::Rejected { status })) => {
                Self::Status(status.0)
            }
            // Of a send that the end of the peer overtook, iWARP says only that it failed.
            Verdict::Refused(CallFailure::Connect(
                ConnectError::PeerClosed | ConnectError::Lost { .. } | ConnectError::Transport { .. },
            )) => Self::HungUp,
            // A thread of ksmbd waits for the end until the client gives up.
            Verdict::Refused(CallFailure::Connect(ConnectError::Timeout)) if ksmbd.may_refuse_in_silence => {
                Self::HungUp
            }
            Verdict::Refused(_) => Self::Other,
        }
    }
}

fn took(
    context: &Context,
    what: &str,
    request: &NegotiateRequest,
    expected: Took,
) -> Result<Verdict, Failure> {
    took_of(context, what, request, NegotiateRequest::LEN, expected)
}

/// The same for a request of `len` bytes.
fn took_of(
    context: &Context,
    what: &str,
    request: &NegotiateRequest,
    len: usize,
    expected: Took,
) -> Result<Verdict, Failure> {
    let ksmbd = Linux::running()?.ksmbd();
    let no_answer = expected == Took::HungUp && ksmbd.may_refuse_in_silence;
    let verdict = verdict(context.address, request, len, no_answer)?;
    same(&format!("{what} ({verdict:?})"), Took::by(ksmbd, &verdict), expected)?;
    Ok(verdict)
}

/// Nothing of all this may harm the next connection.
fn still_serves(context: &Context) -> Result<(), Failure> {
    smb2_and_close(connect_here(context, settings::windows())?)
}

/// Deviation of 6.12 from 3.1.5.6: ksmbd ends the connection unless MaxReceiveSize is *greater* than 128 and
/// MaxFragmentedSize *greater* than 131,072 (`smb_direct_check_recvmsg` compares with `<=`). The client of the
/// specification's own example 4.1, which has 131,072, cannot connect to it. 7.3 takes both.
fn least_sizes(context: &Context) -> Outcome {
    let clock = Clock::start();
    let &Ksmbd { least_receive_size, least_fragmented_size, .. } = Linux::running()?.ksmbd();
    let around = |least| [(least - 1, Took::HungUp), (least, Took::Yes)];
    for (max_receive_size, expected) in around(least_receive_size) {
        let request = NegotiateRequest { max_receive_size, ..ORDINARY };
        took(context, &format!("MaxReceiveSize {max_receive_size}"), &request, expected)?;
    }
    for (max_fragmented_size, expected) in around(least_fragmented_size) {
        let request = NegotiateRequest { max_fragmented_size, ..ORDINARY };
        took(context, &format!("MaxFragmentedSize {max_fragmented_size}"), &request, expected)?;
    }
    let request = NegotiateRequest { credits_requested: 0, ..ORDINARY };
    took(context, "CreditsRequested 0", &request, Took::HungUp)?;
    let request = NegotiateRequest { credits_requested: 1, ..ORDINARY };
    took(context, "CreditsRequested 1", &request, Took::Yes)?;
    still_serves(context)?;
    let time = clock.now().saturating_since(Instant::ORIGIN).as_secs_f32();
    Ok(format!(
        "the least taken: MaxReceiveSize {least_receive_size}, MaxFragmentedSize {least_fragmented_size}, \
         CreditsRequested 1; less is hung up on (3 refusals and 3 successes in {time:.1} s)"
    ))
}

/// Two deviations from 3.1.5.6. MaxReceiveSize has to be at least 128: ksmbd of 6.12 announces whatever the client prefers,
/// down to 0; that of 7.3 announces 128 at least. And MaxFragmentedSize has to be at least 131,072: both announce what half
/// of 255 receives of MaxReceiveSize hold, which is less for every PreferredSendSize below 1029. (The receives that 6.12 has
/// posted take 1364 bytes all the same.) 3.1.5.7 makes the client end both connections, and the core does (as does cifs,
/// set to send 1024 bytes).
fn preferred_send_size(context: &Context) -> Outcome {
    let ksmbd = Linux::running()?.ksmbd();
    for preferred_send_size in [0, 1, 127, 128, 1024, 1028] {
        let request = NegotiateRequest { preferred_send_size, ..ORDINARY };
        let verdict = verdict(context.address, &request, NegotiateRequest::LEN, false)?;
        let Verdict::Refused(CallFailure::Connect(ConnectError::Violation(violation))) = verdict else {
            return Err(format!("PreferredSendSize {preferred_send_size}: {verdict:?}").into());
        };
        let (receive, section) = (ksmbd.receives(preferred_send_size), "3.1.5.7");
        let expected = if receive < 128 {
            Violation::MaxReceiveSize { got: receive, section }
        } else {
            Violation::MaxFragmentedSize { got: receive * 255 / 2, section }
        };
        same("violation", violation, expected)?;
    }
    for preferred_send_size in [1029, 1363, 1364, 8137, u32::MAX] {
        let receive = ksmbd.receives(preferred_send_size);
        let request = NegotiateRequest { preferred_send_size, ..ORDINARY };
        match took(context, &format!("PreferredSendSize {preferred_send_size}"), &request, Took::Yes)? {
            Verdict::Taken(response) => same("MaxReceiveSize", response.max_receive_size, receive)?,
            Verdict::Refused(_) => {}
        }
    }
    still_serves(context)?;
    Ok(format!(
        "deviation from 3.1.5.6: 0 comes back as MaxReceiveSize {}, up to 1028 MaxFragmentedSize is below 131072; 1029 to \
         4294967295 are fine",
        ksmbd.receives(0)
    ))
}

/// 3.1.5.6: no range without 1.0 is accepted. What ksmbd answers is right; that 6.12 then keeps the connection and waits
/// for SMB2 on it is not, but shows only to a client that does not hang up by itself.
fn versions(context: &Context) -> Outcome {
    let refused = Took::Status(status::NOT_SUPPORTED.0);
    for (min_version, max_version, expected) in [
        (0x0100, 0x0100, Took::Yes),
        (0x0000, 0xffff, Took::Yes),
        (0x0100, 0x0200, Took::Yes),
        (0x0101, 0x0200, refused),
        (0x0000, 0x00ff, refused),
        (0x0200, 0x0100, refused),
        (0x0000, 0x0000, refused),
    ] {
        let request = NegotiateRequest { min_version, max_version, ..ORDINARY };
        took(context, &format!("versions {min_version:#06x} to {max_version:#06x}"), &request, expected)?;
    }
    still_serves(context)?;
    Ok("refused with STATUS_NOT_SUPPORTED: 0x0101-0x0200, 0-0x00ff, 0x0200-0x0100, 0-0".into())
}

/// 3.1.5.6: what has all fields is a request, whatever follows it.
fn lengths(context: &Context) -> Outcome {
    for (len, expected) in [(19, Took::HungUp), (20, Took::Yes), (21, Took::Yes), (512, Took::Yes)] {
        took_of(context, &format!("{len} bytes"), &ORDINARY, len, expected)?;
    }
    still_serves(context)?;
    Ok("19 bytes are hung up on, 20, 21 and 512 are taken".into())
}
