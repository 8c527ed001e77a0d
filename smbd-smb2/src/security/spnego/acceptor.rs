//! The server (RFC 4178 3.2, MS-SPNG 3.2).

use alloc::vec::Vec;
use core::fmt;

use super::super::auth_error::AuthError;
use super::super::mechanism::{AnyMechanism, Established, Fresh, Step};
use super::token::{MechTypes, NegState, NegTokenInit, NegTokenResp, mech_types};

/// The server's side. It takes the first mechanism of the client's list that it has. Clients that send NTLM without SPNEGO around it get
/// answers of the same kind.
pub struct Acceptor {
    mechanisms: Vec<AnyMechanism>,
    state: State,
}

#[derive(Debug)]
enum State {
    Start,
    /// Without SPNEGO.
    Raw {
        chosen: usize,
    },
    Running(Running),
    Done {
        chosen: usize,
    },
    Failed,
}

#[derive(Debug)]
struct Running {
    /// mechTypes as they came: what mechListMIC is made over.
    list: Vec<u8>,
    chosen: usize,
    /// Whether it is not the one that the client prefers: a MIC is needed.
    needs_mic: bool,
    sent_mic: bool,
    is_done: bool,
}

impl Acceptor {
    /// With these mechanisms.
    #[must_use]
    pub const fn new(mechanisms: Vec<AnyMechanism>) -> Self {
        Self { mechanisms, state: State::Start }
    }

    /// What goes into the answer to NEGOTIATE: the mechanisms (MS-SPNG 3.2.5.2).
    ///
    /// # Errors
    /// There are none, or more than 16.
    pub fn hint(&self) -> Result<Vec<u8>, AuthError> {
        let names = self.mechanisms.iter().flat_map(|mechanism| mechanism.oids());
        let list = mech_types(names.copied())?;
        NegTokenInit { mech_types: MechTypes::parse(&list)?, mech_token: None, mech_list_mic: None }.write()
    }

    /// Takes the client's token and says what follows. With [`Step::Done`] the client is known, and gets the token with success.
    ///
    /// # Errors
    /// The authentication failed. No step follows; the client may get [`Self::rejection`].
    pub fn step(&mut self, token: &[u8], fresh: &Fresh) -> Result<Step, AuthError> {
        match core::mem::replace(&mut self.state, State::Failed) {
            State::Start => match self.mechanisms.iter().position(|mechanism| mechanism.recognizes(token)) {
                Some(chosen) => self.raw(chosen, token, fresh),
                None => self.begin(token, fresh),
            },
            State::Raw { chosen } => self.raw(chosen, token, fresh),
            State::Running(running) => self.go_on(running, &NegTokenResp::parse(token)?, None, fresh),
            State::Done { .. } | State::Failed => Err(AuthError::OutOfOrder),
        }
    }

    /// What a client may be told that was refused.
    ///
    /// # Errors
    /// None that could come.
    pub fn rejection() -> Result<Vec<u8>, AuthError> {
        NegTokenResp { state: Some(NegState::Reject), ..NegTokenResp::default() }.write()
    }

    /// What came of it, after [`Step::Done`].
    #[must_use]
    pub fn established(&self) -> Option<Established> {
        let State::Done { chosen } = self.state else { return None };
        self.mechanisms.get(chosen)?.established()
    }

    /// The user that the client has named, even if the authentication failed: for logs.
    #[must_use]
    pub fn claimed(&self) -> Option<&str> {
        self.mechanisms.iter().find_map(|mechanism| mechanism.claimed())
    }

    fn raw(&mut self, chosen: usize, token: &[u8], fresh: &Fresh) -> Result<Step, AuthError> {
        let mechanism = self.mechanisms.get_mut(chosen).ok_or(AuthError::NoCommonMechanism)?;
        let step = mechanism.step(token, fresh)?;
        self.state = match step {
            Step::Continue(_) => State::Raw { chosen },
            Step::Done(_) => State::Done { chosen },
        };
        Ok(step)
    }

    fn begin(&mut self, token: &[u8], fresh: &Fresh) -> Result<Step, AuthError> {
        let init = NegTokenInit::parse(token)?;
        let find =
            |name: &[u8]| self.mechanisms.iter().position(|mechanism| mechanism.oids().contains(&name));
        let found = init.mech_types.iter().enumerate().find_map(|(at, name)| Some((at, name, find(name)?)));
        let (at, name, chosen) = found.ok_or(AuthError::NoCommonMechanism)?;
        let running = Running {
            list: init.mech_types.bytes().to_vec(),
            chosen,
            needs_mic: at > 0,
            sent_mic: false,
            is_done: false,
        };
        match init.mech_token.filter(|_| at == 0) {
            Some(_) => {
                let first = NegTokenResp {
                    response_token: init.mech_token,
                    mech_list_mic: init.mech_list_mic,
                    ..NegTokenResp::default()
                };
                self.go_on(running, &first, Some(name), fresh)
            }
            // The token is of another mechanism, or there is none: the client begins again.
            None => {
                let state = if at > 0 { NegState::RequestMic } else { NegState::AcceptIncomplete };
                let answer = NegTokenResp {
                    state: Some(state),
                    supported_mech: Some(name),
                    ..NegTokenResp::default()
                };
                let answer = answer.write()?;
                self.state = State::Running(running);
                Ok(Step::Continue(answer))
            }
        }
    }

    fn go_on(
        &mut self,
        mut running: Running,
        response: &NegTokenResp<'_>,
        supported_mech: Option<&[u8]>,
        fresh: &Fresh,
    ) -> Result<Step, AuthError> {
        if response.state == Some(NegState::Reject) {
            return Err(AuthError::Rejected);
        }
        let mechanism = self.mechanisms.get_mut(running.chosen).ok_or(AuthError::NoCommonMechanism)?;
        let mut own_token = None;
        match response.response_token {
            Some(token) if !running.is_done => {
                own_token = match mechanism.step(token, fresh)? {
                    Step::Continue(token) => Some(token),
                    Step::Done(token) => {
                        running.is_done = true;
                        token
                    }
                };
            }
            None if running.is_done && response.mech_list_mic.is_some() => {}
            _ => return Err(AuthError::OutOfOrder),
        }
        let mut own_mic = None;
        if running.is_done
            && let Some(mic) = mechanism.mic(&running.list)
        {
            if let Some(mic) = response.mech_list_mic {
                mechanism.verify_mic(&running.list, mic)?;
                running.needs_mic = false;
            }
            if (running.needs_mic || response.mech_list_mic.is_some()) && !running.sent_mic {
                running.sent_mic = true;
                own_mic = Some(mic);
            }
        } else if running.is_done {
            // A guest, or a mechanism without a key: there is nothing to protect with.
            running.needs_mic = false;
        }
        let is_complete = running.is_done && !running.needs_mic;
        if running.is_done && !is_complete && own_token.is_none() {
            return Err(AuthError::NoMic);
        }
        let state = if is_complete { NegState::AcceptCompleted } else { NegState::AcceptIncomplete };
        let answer = NegTokenResp {
            state: Some(state),
            supported_mech,
            response_token: own_token.as_deref(),
            mech_list_mic: own_mic.as_deref(),
        };
        let answer = answer.write()?;
        if is_complete {
            self.state = State::Done { chosen: running.chosen };
            return Ok(Step::Done(Some(answer)));
        }
        self.state = State::Running(running);
        Ok(Step::Continue(answer))
    }
}

impl fmt::Debug for Acceptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Acceptor").field("state", &self.state).finish_non_exhaustive()
    }
}
