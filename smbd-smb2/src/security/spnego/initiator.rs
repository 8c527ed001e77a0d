//! The client (RFC 4178 3.2, MS-SPNG 3.3).

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use super::super::auth_error::AuthError;
use super::super::mechanism::{AnyMechanism, Established, Fresh, Step};
use super::super::ntlm::{Credentials, NtlmClient};
use super::token::{MechTypes, NegState, NegTokenInit, NegTokenResp, mech_types};

/// The client's side. It offers mechanisms in their order, with a token of the first one that can begin.
///
/// The list that a server gives in its answer to NEGOTIATE is not used: it is only a hint, which in dialects before 3.1.1 anybody can
/// change. If the server takes another mechanism than the first one, a mechListMIC is needed from it, so that nobody can have made the
/// weaker one the only choice.
pub struct Initiator {
    mechanisms: Vec<AnyMechanism>,
    state: State,
}

#[derive(Debug)]
enum State {
    Start,
    Running(Running),
    Done { chosen: usize },
    Failed,
}

#[derive(Debug)]
struct Running {
    /// mechTypes as sent: what mechListMIC is made over.
    list: Vec<u8>,
    chosen: usize,
    /// Whether the server has said which mechanism it takes.
    is_settled: bool,
    /// Whether it is not the one that was preferred, or the server asked: a MIC is needed.
    needs_mic: bool,
    sent_mic: bool,
    is_done: bool,
}

impl Initiator {
    /// With these mechanisms, the preferred one first.
    #[must_use]
    pub const fn new(mechanisms: Vec<AnyMechanism>) -> Self {
        Self { mechanisms, state: State::Start }
    }

    /// With NTLM alone: `workstation` is the name of this machine, which may be empty, `target` the service's, `cifs/server`.
    #[must_use]
    pub fn ntlm(user: Credentials, workstation: &str, target: &str) -> Self {
        Self::new(vec![Box::new(NtlmClient::new(user, workstation.into(), target.into()))])
    }

    /// Takes the server's token (empty at first, and if its last answer has none) and says what follows. The authentication has
    /// succeeded when the server says so *and* this returns [`Step::Done`].
    ///
    /// # Errors
    /// The authentication failed. No step follows.
    pub fn step(&mut self, token: &[u8], fresh: &Fresh) -> Result<Step, AuthError> {
        match core::mem::replace(&mut self.state, State::Failed) {
            State::Start if token.is_empty() => self.begin(fresh),
            State::Running(running) => self.go_on(running, token, fresh),
            State::Start | State::Done { .. } | State::Failed => Err(AuthError::OutOfOrder),
        }
    }

    /// What came of it, after [`Step::Done`].
    #[must_use]
    pub fn established(&self) -> Option<Established> {
        let State::Done { chosen } = self.state else { return None };
        self.mechanisms.get(chosen)?.established()
    }

    fn begin(&mut self, fresh: &Fresh) -> Result<Step, AuthError> {
        // One that cannot even begin, such as Kerberos without a ticket, is not offered.
        let (first, is_done) = loop {
            let mechanism = self.mechanisms.first_mut().ok_or(AuthError::NoCommonMechanism)?;
            match mechanism.step(&[], fresh) {
                Ok(Step::Continue(token)) => break (Some(token), false),
                Ok(Step::Done(token)) => break (token, true),
                Err(error) if self.mechanisms.len() == 1 => return Err(error),
                Err(_) => drop(self.mechanisms.remove(0)),
            }
        };
        let names = self.mechanisms.iter().flat_map(|mechanism| mechanism.oids());
        let list = mech_types(names.copied())?;
        let token = NegTokenInit {
            mech_types: MechTypes::parse(&list)?,
            mech_token: first.as_deref(),
            mech_list_mic: None,
        };
        let token = token.write()?;
        let (is_settled, needs_mic, sent_mic) = (false, false, false);
        self.state = State::Running(Running { list, chosen: 0, is_settled, needs_mic, sent_mic, is_done });
        Ok(Step::Continue(token))
    }

    fn go_on(&mut self, mut running: Running, token: &[u8], fresh: &Fresh) -> Result<Step, AuthError> {
        let response = match token {
            // A server that has nothing more to say.
            [] if running.is_done => {
                NegTokenResp { state: Some(NegState::AcceptCompleted), ..NegTokenResp::default() }
            }
            _ => NegTokenResp::parse(token)?,
        };
        if response.state == Some(NegState::Reject) {
            return Err(AuthError::Rejected);
        }
        let is_new = !running.is_settled && self.settle(&mut running, &response)?;
        running.needs_mic |= response.state == Some(NegState::RequestMic);
        let mechanism = self.mechanisms.get_mut(running.chosen).ok_or(AuthError::NoCommonMechanism)?;
        let mut own_token = None;
        if is_new {
            own_token = running.take(mechanism.step(&[], fresh)?);
        } else if let Some(token) = response.response_token {
            if running.is_done {
                return Err(AuthError::OutOfOrder);
            }
            own_token = running.take(mechanism.step(token, fresh)?);
        }
        if let Some(mic) = response.mech_list_mic {
            if !running.is_done {
                return Err(AuthError::OutOfOrder);
            }
            mechanism.verify_mic(&running.list, mic)?;
            running.needs_mic = false;
        }
        if response.state == Some(NegState::AcceptCompleted) {
            return self.complete(&running, own_token);
        }
        let own_mic = if running.is_done && !running.sent_mic { mechanism.mic(&running.list) } else { None };
        running.sent_mic |= own_mic.is_some();
        if own_token.is_none() && own_mic.is_none() {
            return Err(AuthError::OutOfOrder);
        }
        let answer = NegTokenResp {
            response_token: own_token.as_deref(),
            mech_list_mic: own_mic.as_deref(),
            ..NegTokenResp::default()
        };
        let answer = answer.write()?;
        self.state = State::Running(running);
        Ok(Step::Continue(answer))
    }

    /// Takes the server's choice. Gives whether it is not the mechanism that has begun.
    fn settle(&self, running: &mut Running, response: &NegTokenResp<'_>) -> Result<bool, AuthError> {
        running.is_settled = true;
        let Some(name) = response.supported_mech else { return Ok(false) };
        let has_it = |mechanism: &AnyMechanism| mechanism.oids().contains(&name);
        let chosen = self.mechanisms.iter().position(has_it).ok_or(AuthError::NoCommonMechanism)?;
        if chosen == running.chosen {
            return Ok(false);
        }
        (running.chosen, running.is_done, running.needs_mic) = (chosen, false, true);
        // Its own first token comes before any of the server's.
        if response.response_token.is_some() { Err(AuthError::OutOfOrder) } else { Ok(true) }
    }

    fn complete(&mut self, running: &Running, own_token: Option<Vec<u8>>) -> Result<Step, AuthError> {
        if !running.is_done || own_token.is_some() {
            return Err(AuthError::OutOfOrder);
        }
        if running.needs_mic {
            return Err(AuthError::NoMic);
        }
        self.state = State::Done { chosen: running.chosen };
        Ok(Step::Done(None))
    }
}

impl Running {
    fn take(&mut self, step: Step) -> Option<Vec<u8>> {
        match step {
            Step::Continue(token) => Some(token),
            Step::Done(token) => {
                self.is_done = true;
                token
            }
        }
    }
}

impl fmt::Debug for Initiator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Initiator").field("state", &self.state).finish_non_exhaustive()
    }
}
