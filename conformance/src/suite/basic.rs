//! `basic check`: what every request and every accepting response has to be, whatever was said before.

use smbd_core::wire::{NegotiateRequest, NegotiateResponse};

use super::basis::Basis;
use super::outcome::Stop;
use super::peer::Peer;
use super::play::Play;
use super::script::Request;
use super::state::Announced;
use super::trace::hex;

const VERSION: u16 = 0x0100;
/// The least sizes that anybody may announce.
const RECEIVE_SIZE_MIN: u32 = 128;
const FRAGMENTED_SIZE_MIN: u32 = 131_072;

/// One field of a negotiation message: the statements, whether it is as it should be, and what to say if it is not.
type Field = (&'static str, bool, String);

/// What is broken by a value that is not the one wanted: the rule that nobody may break, if it is that, or else that the value is
/// the subject's own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Duties {
    pub(super) credits_requested: &'static str,
    pub(super) credits_granted: &'static str,
    pub(super) preferred_send_size: &'static str,
    pub(super) max_receive_size: &'static str,
    pub(super) max_fragmented_size: &'static str,
}

impl Duties {
    /// Those of a response to this request.
    pub(super) const fn of_response(request: &Request, response: &NegotiateResponse) -> Self {
        Self {
            credits_requested: rule(response.credits_requested == 0, "3.1.5.7-06", "3.1.5.3-10"),
            credits_granted: match response.credits_granted {
                0 => "3.1.5.7-05",
                granted if granted > request.credits_requested => "3.1.5.6-13",
                _ => "3.1.5.3-11",
            },
            preferred_send_size: rule(
                response.preferred_send_size > request.max_receive_size,
                "2.2.2-19",
                "3.1.5.3-13",
            ),
            max_receive_size: rule(response.max_receive_size < RECEIVE_SIZE_MIN, "3.1.5.7-03", "3.1.5.3-14"),
            max_fragmented_size: rule(
                response.max_fragmented_size < FRAGMENTED_SIZE_MIN,
                "3.1.5.7-04",
                "3.1.5.3-15",
            ),
        }
    }

    /// Those of a request, which grants nothing.
    pub(super) const fn of_request(request: &NegotiateRequest) -> Self {
        let (receives, fragmented) = (request.max_receive_size, request.max_fragmented_size);
        Self {
            credits_requested: rule(request.credits_requested == 0, "3.1.5.6-06", "3.1.5.2-05"),
            credits_granted: "",
            preferred_send_size: "3.1.5.2-06",
            max_receive_size: rule(receives < RECEIVE_SIZE_MIN, "3.1.5.6-07", "3.1.5.2-07"),
            max_fragmented_size: rule(fragmented < FRAGMENTED_SIZE_MIN, "3.1.5.6-08", "3.1.5.2-08"),
        }
    }
}

const fn rule(is_broken: bool, rule: &'static str, own: &'static str) -> &'static str {
    if is_broken { rule } else { own }
}

/// What a response is that accepts `request`.
fn response_fields(request: &Request, response: &NegotiateResponse, bytes: &[u8]) -> Vec<Field> {
    let (min, max, version) = (response.min_version, response.max_version, response.negotiated_version);
    let reserved = bytes.get(6..8).unwrap_or_default();
    let (granted, asked) = (response.credits_granted, request.credits_requested);
    let (receives, preferred) = (response.max_receive_size, request.preferred_send_size);
    let (sends, most) = (response.preferred_send_size, request.max_receive_size);
    let fragmented = response.max_fragmented_size;
    // A preference below the least is for cases about that.
    let least = RECEIVE_SIZE_MIN.min(preferred);
    vec![
        is_version("2.2.2-03 3.1.5.3-02 +1.7-01 +1.7-02 +2.2.2-02", "MinVersion", min),
        is_version("2.2.2-06 3.1.5.3-03 +1.7-01 +1.7-02 +2.2.2-04", "MaxVersion", max),
        (
            "2.2.2-05",
            max >= min,
            format!("MaxVersion should be 0x{min:04x} at least, as MinVersion, it is 0x{max:04x}"),
        ),
        is_version(
            "3.1.5.3-09 +2.2.2-07 +2.2.2-08 +3.1.5.6-03 +3.1.5.6-05 +3.1.5.6-12",
            "NegotiatedVersion",
            version,
        ),
        (
            "2.2.2-09",
            (request.min_version..=request.max_version).contains(&version),
            format!(
                "NegotiatedVersion should be offered by the request, 0x{:04x} to 0x{:04x}, it is 0x{version:04x}",
                request.min_version, request.max_version
            ),
        ),
        (
            "2.2-06 2.2.2-11 3.1.5.3-04 +2.2.2-10",
            reserved == [0, 0],
            format!("Reserved should be 00 00, it is {}", hex(reserved)),
        ),
        ("3.1.5.7-05 +3.1.5.6-16", granted > 0, "CreditsGranted should be 1 at least, it is 0".into()),
        (
            "3.1.5.6-13 +2.2.2-14 +3.1.5.9-02",
            granted <= asked,
            format!("CreditsGranted should be {asked} at most, which was asked for, it is {granted}"),
        ),
        (
            "3.1.5.7-06 +2.2.2-13 +3.1.5.3-10",
            response.credits_requested > 0,
            "CreditsRequested should be 1 at least, it is 0".into(),
        ),
        (
            "3.1.5.7-03",
            receives >= least,
            format!("MaxReceiveSize should be {RECEIVE_SIZE_MIN} at least, it is {receives}"),
        ),
        (
            "3.1.5.6-10 +2.2.2-20 +3.1.5.3-14",
            receives <= preferred.max(RECEIVE_SIZE_MIN),
            format!("MaxReceiveSize should be {preferred} at most, which was preferred, it is {receives}"),
        ),
        (
            "2.2.2-19 +2.2.2-18 +3.1.5.6-14",
            sends <= most,
            format!("PreferredSendSize should be {most} at most, which is taken, it is {sends}"),
        ),
        (
            "3.1.5.7-04 +2.2.2-21",
            fragmented >= FRAGMENTED_SIZE_MIN,
            format!("MaxFragmentedSize should be {FRAGMENTED_SIZE_MIN} at least, it is {fragmented}"),
        ),
    ]
}

/// What every request is.
fn request_fields(request: &NegotiateRequest, bytes: &[u8]) -> Vec<Field> {
    let (min, max) = (request.min_version, request.max_version);
    let reserved = bytes.get(4..6).unwrap_or_default();
    let (receives, fragmented) = (request.max_receive_size, request.max_fragmented_size);
    vec![
        (
            "2.2.1-01",
            bytes.len() == 20,
            format!("a Negotiate Request should have 20 bytes, it has {}", bytes.len()),
        ),
        is_version("2.2.1-03 3.1.5.2-02 +1.7-02 +2.2.1-02", "MinVersion", min),
        is_version("2.2.1-06 3.1.5.2-03 +1.7-02 +2.2.1-04", "MaxVersion", max),
        (
            "2.2.1-05",
            max >= min,
            format!("MaxVersion should be 0x{min:04x} at least, as MinVersion, it is 0x{max:04x}"),
        ),
        (
            "2.2-06 2.2.1-09 3.1.5.2-04 +2.2.1-08",
            reserved == [0, 0],
            format!("Reserved should be 00 00, it is {}", hex(reserved)),
        ),
        (
            "3.1.5.6-06 +2.2.1-11",
            request.credits_requested > 0,
            "CreditsRequested should be 1 at least, it is 0".into(),
        ),
        (
            "3.1.5.6-07 +2.2.1-13",
            receives >= RECEIVE_SIZE_MIN,
            format!("MaxReceiveSize should be {RECEIVE_SIZE_MIN} at least, it is {receives}"),
        ),
        (
            "3.1.5.6-08 +2.2.1-14",
            fragmented >= FRAGMENTED_SIZE_MIN,
            format!("MaxFragmentedSize should be {FRAGMENTED_SIZE_MIN} at least, it is {fragmented}"),
        ),
    ]
}

fn is_version(statements: &'static str, name: &str, value: u16) -> Field {
    (statements, value == VERSION, format!("{name} should be 0x{VERSION:04x}, it is 0x{value:04x}"))
}

impl Peer<'_> {
    /// `basic check of a response` to `request`, which breaks no rule: if it is refused, `statements` are broken. Fields count in
    /// cases that list their statements. In others a field is of no matter unless it is wrong only here.
    ///
    /// # Errors
    /// The request is refused.
    pub fn basic_check(
        &mut self,
        statements: &str,
        request: &Request,
        response: &NegotiateResponse,
        bytes: &[u8],
    ) -> Result<(), Stop> {
        let (id, request) = (self.id, self.as_sent(request));
        let accepts = response.negotiated_version != 0 && response.credits_granted > 0;
        if accepts && !response.status.is_success() {
            self.play.shared(id, "2.2.2-16", false, || {
                format!("Status of a response that accepts should be 0, it is {}", response.status)
            });
        } else {
            self.accepted(statements, response)?;
            self.play.shared(id, "2.2.2-16 +2.2.2-15 +3.1.5.3-05", true, String::new);
        }
        for (statements, holds, text) in response_fields(&request, response, bytes) {
            if holds || self.play.is_about(statements) || !self.play.is_wrong_usually(statements) {
                self.play.shared(id, statements, holds, || text);
            }
        }
        Ok(())
    }

    /// A MaxReceiveSize below the least is about what was asked for, unless it is as little in the response to a usual request.
    ///
    /// # Errors
    /// It is: another case is about that.
    pub fn shrinks_only_here(&mut self, found: u32) -> Result<(), Stop> {
        if found >= RECEIVE_SIZE_MIN {
            return Ok(());
        }
        let mut peer = self.play.connect()?;
        peer.request(&Request::default())?;
        let (response, _) = peer.response("")?;
        let usual = response.max_receive_size;
        if usual >= RECEIVE_SIZE_MIN {
            return Ok(());
        }
        let because =
            format!("MaxReceiveSize of a usual response is {usual}, {RECEIVE_SIZE_MIN} at least is needed");
        Err(self.play.without(Basis::Sizes, because))
    }

    /// What the subject has announced keeps the rules for everybody.
    ///
    /// # Errors
    /// It does not: another case is about that.
    pub fn is_sound(&mut self) -> Result<(), Stop> {
        let request = self.play.states[self.id].terms.request;
        let fields = match self.announced()? {
            Announced::Request(request) => request_fields(&request, &[0; 20]),
            Announced::Response(response) => response_fields(&request, &response, &[0; 32]),
        };
        match fields.into_iter().find(|(_, holds, _)| !holds) {
            Some((.., because)) => Err(self.play.without(Basis::Sizes, because)),
            None => Ok(()),
        }
    }

    /// MaxFragmentedSize of the subject.
    ///
    /// # Errors
    /// It has announced none, or less than anybody may.
    pub fn max_fragmented_size(&mut self) -> Result<u32, Stop> {
        let size = self.announced()?.max_fragmented_size();
        if size >= FRAGMENTED_SIZE_MIN {
            return Ok(size);
        }
        let because = format!("MaxFragmentedSize is {size}, {FRAGMENTED_SIZE_MIN} at least is needed");
        Err(self.play.without(Basis::Sizes, because))
    }

    /// What every request is.
    pub fn basic_check_of(&mut self, request: &NegotiateRequest, bytes: &[u8]) {
        let id = self.id;
        let fields = request_fields(request, bytes);
        // The first is its length: what is no request has no fields of one.
        let known = if bytes.len() == 20 { fields.len() } else { 1 };
        for (statements, holds, text) in fields.into_iter().take(known) {
            self.play.shared(id, statements, holds, || text);
        }
    }
}

impl Play {
    /// Whether the field of these statements is wrong in the response to a usual request, too.
    fn is_wrong_usually(&mut self, statements: &str) -> bool {
        let mut wrong = false;
        self.step("the same on a usual connection");
        let tried = self.on_trial(|play| {
            let request = Request::default();
            let mut peer = play.connect()?;
            peer.request(&request)?;
            let (response, message) = peer.response("")?;
            let request = peer.as_sent(&request);
            let fields = response_fields(&request, &response, &message.bytes);
            wrong = fields.iter().any(|(of, holds, _)| *of == statements && !holds);
            Ok(())
        });
        wrong || tried.is_err()
    }
}
