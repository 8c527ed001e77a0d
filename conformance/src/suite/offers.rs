//! Memory that an SMB2 client offers with its READs and WRITEs by RDMA: the script writes to it and reads from it.

use std::time::Duration;

use bytes::Bytes;
use smbd_core::{Access, RdmaVerb, Token};
use smbd_tools::exercise::digest;

use super::Data;
use super::exercise::Offer;
use super::outcome::Stop;
use super::peer::Peer;
use super::script::pattern;
use super::upper::{Serving, Speaks};

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

    /// The client goes on when it has an answer.
    fn answer_what_is_open(&mut self) -> Result<(), Stop> {
        let Some(taken) = self.serving()?.taken() else { return Ok(()) };
        let (bytes, token) = self.serving()?.transferred(&taken);
        self.say_with(&bytes, token)
    }

    /// A message, of which the last fragment invalidates the token.
    fn say_with(&mut self, bytes: &[u8], token: Option<Token>) -> Result<(), Stop> {
        let mut fragments = self.fragments(bytes)?;
        if let Some(last) = fragments.last_mut() {
            last.invalidate = token;
        }
        for fragment in fragments {
            self.send(&Data { ..fragment })?;
        }
        Ok(())
    }

    fn serving(&mut self) -> Result<&mut Serving, Stop> {
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
