//! Memory that an SMB2 client offers with its READs and WRITEs by RDMA: the script writes to it and reads from it.

use std::time::Duration;

use bytes::Bytes;
use smbd_core::{Access, RdmaVerb, Token};
use smbd_smb2::wire::{Dialect, NtStatus, ReadResponseFlags, read};
use smbd_tools::exercise::digest;

use super::Data;
use super::exercise::Offer;
use super::outcome::{Stop, Unjudged};
use super::peer::Peer;
use super::script::pattern;
use super::upper::{Offered, Serving, Speaks};
use super::waiting::QUIET;

/// A client that has nothing else to do asks for RDMA within this time.
const OFFERED: Duration = Duration::from_secs(10);

impl Peer<'_> {
    /// The memory of the client's next READ by RDMA for [`Access::Write`], and of its next WRITE for [`Access::Read`]: that has
    /// the content which the READ before it was given.
    pub(super) fn offer_of_client(&mut self, statements: &str, access: Access) -> Result<Offer, Stop> {
        match access {
            Access::Write => self.client_offers(statements, RdmaVerb::Write, None),
            Access::Read => {
                let given = self.client_offers(statements, RdmaVerb::Write, None)?;
                let bytes = pattern(given.id.into(), given.content.len());
                self.write_offer(statements, &given, &bytes)?;
                self.transferred(&given)?;
                self.client_offers(statements, RdmaVerb::Read, Some(bytes))
            }
            Access::ReadWrite => {
                let why = "an SMB2 client offers memory for reading or for writing, not for both";
                Err(Stop::NotApplicable(why.into()))
            }
        }
    }

    /// The content of memory for writing, as the client writes it back.
    pub(super) fn written_back(&mut self, statements: &str, offer: &Offer) -> Result<u64, Stop> {
        self.transferred(offer)?;
        let back = self.client_offers(statements, RdmaVerb::Read, None)?;
        let bytes = self.read_offer(statements, &back)?;
        self.transferred(&back)?;
        Ok(digest(&bytes))
    }

    /// Tells the client that all was transferred. With that its memory is its own again.
    pub(super) fn transferred(&mut self, offer: &Offer) -> Result<(), Stop> {
        let Some(offered) = &offer.offered else {
            return Err(Stop::Broken("what no SMB2 client has offered is not answered".into()));
        };
        let (bytes, token) = self.serving()?.transferred(offered);
        self.say_with(&bytes, token)
    }

    /// The same for a READ, and the token stays valid as far as the script can say.
    pub(super) fn transferred_without_token(&mut self, offer: &Offer) -> Result<(), Stop> {
        let (bytes, _) = self.success(offer)?;
        self.say_with(&bytes, None)
    }

    /// The answer to a READ that says of the data that they are under a transform, which they are not.
    pub(super) fn transferred_with_transform(&mut self, offer: &Offer) -> Result<(), Stop> {
        let (bytes, token) = self.success(offer)?;
        let mut bytes = bytes.to_vec();
        let flags = ReadResponseFlags::RDMA_TRANSFORM;
        let set = read::response::FLAGS.set(&mut bytes, flags);
        debug_assert_eq!(set, Ok(()), "it is an answer to a READ");
        self.say_with(&bytes, token)
    }

    /// The answer that a READ has failed.
    pub(super) fn transfer_failed(&mut self, offer: &Offer, status: NtStatus) -> Result<(), Stop> {
        let Some(Offered::Read(read)) = &offer.offered else {
            return Err(Stop::Broken("only a READ that was offered fails".into()));
        };
        let token = read.transfer.invalidates();
        let bytes = self.serving()?.failed(read, status);
        self.say_with(&bytes, token)
    }

    fn success(&mut self, offer: &Offer) -> Result<(Bytes, Option<Token>), Stop> {
        let Some(offered) = &offer.offered else {
            return Err(Stop::Broken("what no SMB2 client has offered is not answered".into()));
        };
        Ok(self.serving()?.transferred(offered))
    }

    /// The dialect that the client and the script speak.
    pub(super) fn dialect_of_client(&mut self) -> Result<Dialect, Stop> {
        Ok(self.serving()?.dialect())
    }

    /// What the client writes next, by RDMA; `None` if it writes nothing for 3 s.
    pub(super) fn writes_next(&mut self) -> Result<Option<Vec<u8>>, Stop> {
        let (id, until) = (self.id, self.play.now().saturating_add(QUIET));
        self.play.wait_for("a WRITE that should not come", until, |play| {
            let state = &play.states[id];
            let Speaks::Client(serving) = &state.dialogue.speaks else { return true };
            serving.has_offered(RdmaVerb::Read) || state.link.is_over()
        });
        if self.is_down() || !self.serving()?.has_offered(RdmaVerb::Read) {
            return Ok(None);
        }
        let offer = self.client_offers("", RdmaVerb::Read, None)?;
        let mut data = self.read_offer("", &offer)?;
        let Some(offered) = &offer.offered else { return Ok(Some(data)) };
        self.serving()?.uncover(offered, &mut data).map_err(|error| {
            Stop::NotJudged(Unjudged::alone(format!("what the client writes cannot be read: {error}")))
        })?;
        Ok(Some(data))
    }

    /// The client goes on when it has an answer.
    fn answer_what_is_open(&mut self) -> Result<(), Stop> {
        let Some(taken) = self.serving()?.taken() else { return Ok(()) };
        let (bytes, token) = self.serving()?.transferred(&taken);
        self.say_with(&bytes, token)
    }

    /// A message, of which the last fragment invalidates the token.
    pub(super) fn say_with(&mut self, bytes: &[u8], token: Option<Token>) -> Result<(), Stop> {
        let mut fragments = self.fragments(bytes)?;
        if let Some(last) = fragments.last_mut() {
            last.invalidate = token;
        }
        for fragment in fragments {
            self.send(&Data { ..fragment })?;
        }
        Ok(())
    }

    pub(super) fn serving(&mut self) -> Result<&mut Serving, Stop> {
        match &mut self.state().dialogue.speaks {
            Speaks::Client(serving) => Ok(serving),
            Speaks::Echo | Speaks::Server(_) => {
                Err(Stop::NotApplicable("the case is about an SMB2 client".into()))
            }
        }
    }

    fn client_offers(
        &mut self,
        statements: &str,
        verb: RdmaVerb,
        content: Option<Bytes>,
    ) -> Result<Offer, Stop> {
        self.prepare_upper()?;
        self.answer_what_is_open()?;
        let (id, until) = (self.id, self.play.now().saturating_add(OFFERED));
        while !self.serving()?.has_offered(verb) {
            let came = self.play.wait_for("a READ or WRITE by RDMA", until, |play| {
                let state = &play.states[id];
                let Speaks::Client(serving) = &state.dialogue.speaks else { return true };
                serving.has_offered(verb) || state.dialogue.has_due() || state.link.is_over()
            });
            self.require(statements, came && !self.is_down(), || {
                let what = if verb == RdmaVerb::Write { "READ" } else { "WRITE" };
                format!("the client should send an SMB2 {what} by RDMA within {} s", OFFERED.as_secs())
            })?;
            self.prepare_upper()?;
        }
        self.take_offer(verb, content)
    }

    /// The READ or WRITE that has come.
    pub(super) fn take_offer(&mut self, verb: RdmaVerb, content: Option<Bytes>) -> Result<Offer, Stop> {
        self.state().inbox.clear();
        let Some((offered, answer)) = self.serving()?.offered(verb) else { return Err(Stop::Failed) };
        let transfer = offered.transfer();
        let length = usize::try_from(transfer.length).unwrap_or(usize::MAX);
        Ok(Offer {
            id: u32::try_from(transfer.message_id).unwrap_or(u32::MAX),
            descriptors: transfer.descriptors.clone(),
            answer: answer.to_vec(),
            content: content.map_or_else(|| vec![0; length], |content| content.to_vec()),
            registration: None,
            offered: Some(offered),
        })
    }
}
