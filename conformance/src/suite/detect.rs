//! What the upper layer of a subject does is found out before the first case, each thing on a connection of its own.

use std::collections::BTreeSet;
use std::time::Duration;

use smbd_core::Access;
use smbd_tools::exercise::{Answer, Request};

use super::outcome::Stop;
use super::peer::Peer;
use super::play::Play;
use super::rig::Target;
use super::script::Terms;
use super::upper::{ClientFacts, Question, Rdma, ServerFacts, Upper};
use crate::catalogue::UnderTest;
use crate::smb2::client::User;

/// What is looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// An upper layer that returns messages.
    pub echo: bool,
    /// An SMB2 server or client.
    pub smb2: bool,
    /// Of a server: the share on which a guest may read and write, `\\server\share`.
    pub share: Option<String>,
    /// A user who may do that as well, or as which a client logs in: for cases that need signed or encrypted messages.
    pub user: Option<User>,
}

/// An answer comes within this time.
const ANSWER: Duration = Duration::from_secs(10);
/// A client has mounted and reads within this time.
const MOUNTED: Duration = Duration::from_secs(40);
/// Bytes of messages that are tried, the longest first.
const LENGTHS: [usize; 5] = [131_072, 65_648, 16_384, 8192, 1000];
/// Bytes of the buffer that a server is asked to write to.
const BUFFER: u32 = 8192;

/// Finds out what the upper layer does.
pub fn detect(target: &mut dyn Target, role: UnderTest, choice: &Choice) -> Upper {
    let mut looking = Looking { target, role };
    if choice.echo && looking.returns() {
        return Upper::Echo(looking.exercises());
    }
    if !choice.smb2 {
        return Upper::Silent("the peer's upper layer does not return messages".into());
    }
    let found = match role {
        UnderTest::Initiator => looking.client(choice),
        UnderTest::Acceptor | UnderTest::Both => looking.server(choice),
    };
    found.unwrap_or_else(|why| {
        let echo = if choice.echo { "neither returns messages nor" } else { "does not" };
        Upper::Silent(format!("the peer's upper layer {echo} speak SMB2 as far as messages need it: {why}"))
    })
}

struct Looking<'t> {
    target: &'t mut dyn Target,
    role: UnderTest,
}

impl Looking<'_> {
    /// On a new connection, with an upper layer that is taken to be like this.
    fn on_a_connection<T>(
        &mut self,
        upper: Upper,
        time: Duration,
        steps: impl FnOnce(&mut Peer<'_>) -> Result<T, Stop>,
    ) -> Result<T, String> {
        let rig = self.target.rig(0, self.role, None).map_err(|unable| unable.to_string())?;
        let mut play = Play::new(rig, self.role, BTreeSet::new(), upper);
        play.end_after(time);
        let mut seen = None;
        let tried = play.on_trial(|play| {
            let mut peer = play.established_on(&Terms::many_credits())?;
            seen = Some(steps(&mut peer)?);
            Ok(())
        });
        let late = play.is_late();
        // What is left of it does not matter.
        let _ = play.rig.end();
        match (tried, seen) {
            (Ok(()), Some(value)) => Ok(value),
            (Err(_), _) if late => Err(format!("no answer came within {} s", time.as_secs())),
            (Err(wrong), _) if !wrong.is_empty() => Err(wrong),
            _ => Err("no answer came".into()),
        }
    }

    fn returns(&mut self) -> bool {
        self.on_a_connection(Upper::default(), ANSWER, |peer| answered(peer, 1, 100, 1)).is_ok()
    }

    /// Whether an upper layer that returns messages carries out the requests of `smbd_tools::exercise`: it offers memory.
    fn exercises(&mut self) -> Rdma {
        let offered = self.on_a_connection(Upper::default(), ANSWER, |peer| {
            let answer = peer.ask("", &Request::Offer { length: BUFFER, access: Access::Read, seed: 1 })?;
            Ok(matches!(answer, Answer::Offered { .. }))
        });
        match offered {
            Ok(true) => Rdma::Done,
            Ok(false) => Rdma::Not("it offers no memory when asked to".into()),
            Err(why) => Rdma::Not(why),
        }
    }

    fn answers(&mut self, facts: &ServerFacts, len: usize, answer: usize) -> Result<(), String> {
        let upper = Upper::Server(facts.clone());
        self.on_a_connection(upper, ANSWER, |peer| answered(peer, 1, len, answer))
    }

    fn server(&mut self, choice: &Choice) -> Result<Upper, String> {
        let longest = usize::MAX;
        let nothing = ServerFacts { longest, ..ServerFacts::default() };
        let dialect = self.on_a_connection(Upper::Server(nothing.clone()), ANSWER, |peer| {
            peer.prepare_upper()?;
            Ok(peer.state().dialogue.dialect())
        })?;
        let mut facts = ServerFacts { dialect, user: choice.user.clone(), ..nothing };
        if let Some(share) = &choice.share {
            facts.share = Some(share.clone());
            self.fill(&facts).map_err(|why| format!("no file on {share}: {why}"))?;
        }
        let echo = ServerFacts { echo: true, share: None, ..facts.clone() };
        facts.echo = self.answers(&echo, 68, 1).is_ok();
        let refusing = ServerFacts { refusals: true, echo: facts.echo, share: None, ..facts.clone() };
        facts.refusals = self.answers(&refusing, 200, 1).is_ok();
        let several = ServerFacts { compounds: true, ..facts.clone() };
        facts.compounds = self.answers(&several, 1000, 400).is_ok();
        let tried = LENGTHS.iter().find(|len| self.answers(&facts, **len, 1).is_ok());
        facts.longest = tried.copied().ok_or("no request is answered but NEGOTIATE")?;
        facts.rdma = match self.writes(&facts) {
            Ok(()) => Rdma::Done,
            Err(why) => Rdma::Not(why),
        };
        Ok(Upper::Server(facts))
    }

    /// The server writes to a buffer of the script.
    fn writes(&mut self, facts: &ServerFacts) -> Result<(), String> {
        if facts.share.is_none() {
            return Err("no share is known on which a guest may read and write".into());
        }
        self.on_a_connection(Upper::Server(facts.clone()), ANSWER, |peer| {
            let buffer = peer.register(&[0; BUFFER as usize], Access::Write)?;
            let (seed, descriptors) = (1, buffer.descriptors.into());
            let asked = Request::Write { seed, offset: 0, length: BUFFER, invalidate: None, descriptors };
            match peer.ask("", &asked)? {
                Answer::Done => {}
                Answer::Failed(failure) => return Err(Stop::NotApplicable(failure.text)),
                other => return Err(Stop::NotApplicable(format!("{other:?}"))),
            }
            let is_there = peer.contents(buffer.buffer) == peer.written_by(&asked);
            let why = "it says that it wrote to a buffer, and the bytes are not there";
            if is_there { Ok(()) } else { Err(Stop::NotApplicable(why.into())) }
        })
    }

    /// Writes the content that cases read.
    fn fill(&mut self, facts: &ServerFacts) -> Result<(), String> {
        let upper = Upper::Server(facts.clone());
        self.on_a_connection(upper, 2 * ANSWER, |peer| {
            peer.prepare_upper()?;
            let mut piece = 0;
            while let Some(question) = peer.state().dialogue.fill(piece) {
                let question = question.map_err(|why| Stop::NotApplicable(why.0))?;
                answered_to(peer, &question)?;
                piece += 1;
            }
            answered(peer, 1, 113, 1000)
        })
    }

    fn client(&mut self, choice: &Choice) -> Result<Upper, String> {
        let exact = ClientFacts::default();
        let padding = ClientFacts { pads: true, ..ClientFacts::default() };
        let (facts, read_max) = match self.copies(&exact) {
            Ok(read_max) => (exact, read_max),
            Err(why) => self.copies(&padding).map(|read_max| (padding, read_max)).map_err(|_| why)?,
        };
        let upper = Upper::Client(facts.clone());
        let rdma = match self.on_a_connection(upper, MOUNTED, |peer| peer.offer("", Access::Write, 0)) {
            Ok(_) => Rdma::Done,
            Err(why) => Rdma::Not(why),
        };
        let user = choice.user.clone();
        Ok(Upper::Client(ClientFacts { read_max, rdma, user, ..facts }))
    }

    /// The client writes what it has read. Bytes that it asks for with one READ.
    fn copies(&mut self, facts: &ClientFacts) -> Result<u32, String> {
        let read_max = self.on_a_connection(Upper::Client(facts.clone()), MOUNTED, |peer| {
            peer.prepare_upper()?;
            peer.let_it_ask()?;
            let most = peer.state().dialogue.read_max();
            answered(peer, 1, 1000, 1).map(|()| most)
        })?;
        read_max.ok_or_else(|| "it reads by RDMA, and takes no content in a message".into())
    }
}

fn answered(peer: &mut Peer<'_>, seed: u64, len: usize, answer: usize) -> Result<(), Stop> {
    let question = peer.message_for(seed, len, answer)?;
    answered_to(peer, &question)
}

fn answered_to(peer: &mut Peer<'_>, question: &Question) -> Result<(), Stop> {
    peer.send_fragments(question)?;
    peer.answered("", question).map(|_| ())
}
