//! The tokens (RFC 4178 4.2, MS-SPNG 2.2.1).

use alloc::vec::Vec;

use super::super::auth_error::AuthError;
use super::super::der::{self, Reader, context};
use super::oid::SPNEGO;

/// The most mechanisms that a list has. Windows sends up to five.
const MECHANISMS_MAX: usize = 16;

/// MechTypeList: names of mechanisms, the preferred one first. As it came, since its very bytes are signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MechTypes<'a>(&'a [u8]);

impl<'a> MechTypes<'a> {
    /// Reads a list: a SEQUENCE with its tag.
    ///
    /// # Errors
    /// [`AuthError::Der`]: not DER, empty, or longer than 16 names.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, AuthError> {
        let mut names = Reader::new(bytes).only(der::SEQUENCE, "MechTypeList")?;
        let mut count: usize = 0;
        while !names.is_empty() && count < MECHANISMS_MAX {
            if names.value(der::OID, "MechType")?.is_empty() {
                return Err(names.error("MechType"));
            }
            count = count.saturating_add(1);
        }
        names.end()?;
        if count == 0 { Err(names.error("MechType")) } else { Ok(Self(bytes)) }
    }

    /// The names, without tag and length.
    pub fn iter(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let names = Reader::new(self.0).only(der::SEQUENCE, "MechTypeList").ok();
        let mut rest = names.unwrap_or(Reader::new(&[]));
        core::iter::from_fn(move || rest.value(der::OID, "MechType").ok().map(|name| name.bytes()))
    }

    /// The bytes that mechListMIC is made over.
    #[must_use]
    pub const fn bytes(&self) -> &'a [u8] {
        self.0
    }
}

/// A list of these names.
pub(super) fn mech_types<'a>(names: impl Iterator<Item = &'a [u8]>) -> Result<Vec<u8>, AuthError> {
    let mut list = Vec::new();
    for name in names {
        der::write(&mut list, der::OID, name)?;
    }
    der::value(der::SEQUENCE, &list)
}

/// NegTokenInit, and NegTokenInit2 (MS-SPNG 2.2.1): who begins. reqFlags and negHints are not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NegTokenInit<'a> {
    /// mechTypes.
    pub mech_types: MechTypes<'a>,
    /// mechToken, of the first of them.
    pub mech_token: Option<&'a [u8]>,
    /// mechListMIC.
    pub mech_list_mic: Option<&'a [u8]>,
}

impl<'a> NegTokenInit<'a> {
    /// Reads the token, with the frame of GSS-API around it.
    ///
    /// # Errors
    /// [`AuthError::Der`], [`AuthError::TooLong`].
    pub fn parse(bytes: &'a [u8]) -> Result<Self, AuthError> {
        der::check_len(bytes)?;
        let mut frame = Reader::new(bytes).only(der::APPLICATION_0, "InitialContextToken")?;
        let name = frame.value(der::OID, "thisMech")?;
        if name.bytes() != SPNEGO {
            return Err(name.error("SPNEGO"));
        }
        let mut fields = frame.only(context(0), "negTokenInit")?.only(der::SEQUENCE, "NegTokenInit")?;
        let mech_types = MechTypes::parse(fields.value(context(0), "mechTypes")?.bytes())?;
        fields.optional(context(1), "reqFlags")?;
        let mech_token = octets(&mut fields, 2, "mechToken")?;
        let mut mech_list_mic = None;
        if let Some(field) = fields.optional(context(3), "mechListMIC")? {
            // RFC 4178 has the MIC here, MS-SPNG its hints, and the MIC behind them.
            if field.tag() == Some(der::SEQUENCE) {
                field.only(der::SEQUENCE, "negHints")?;
                mech_list_mic = octets(&mut fields, 4, "mechListMIC")?;
            } else {
                mech_list_mic = Some(field.only(der::OCTET_STRING, "mechListMIC")?.bytes());
            }
        }
        fields.end()?;
        Ok(Self { mech_types, mech_token, mech_list_mic })
    }

    /// Writes the token, with the frame of GSS-API around it, as RFC 4178 has it.
    ///
    /// # Errors
    /// [`AuthError::TooLong`].
    pub fn write(&self) -> Result<Vec<u8>, AuthError> {
        let mut fields = der::value(context(0), self.mech_types.bytes())?;
        write_octets(&mut fields, 2, self.mech_token)?;
        write_octets(&mut fields, 3, self.mech_list_mic)?;
        let token = der::value(context(0), &der::value(der::SEQUENCE, &fields)?)?;
        let mut frame = der::value(der::OID, SPNEGO)?;
        frame.extend_from_slice(&token);
        der::value(der::APPLICATION_0, &frame)
    }
}

/// negState (RFC 4178 4.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NegState {
    /// accept-completed.
    AcceptCompleted,
    /// accept-incomplete.
    AcceptIncomplete,
    /// reject.
    Reject,
    /// request-mic.
    RequestMic,
}

impl NegState {
    const ALL: [Self; 4] = [Self::AcceptCompleted, Self::AcceptIncomplete, Self::Reject, Self::RequestMic];

    const fn number(self) -> u8 {
        match self {
            Self::AcceptCompleted => 0,
            Self::AcceptIncomplete => 1,
            Self::Reject => 2,
            Self::RequestMic => 3,
        }
    }
}

/// NegTokenResp: every token but the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NegTokenResp<'a> {
    /// negState.
    pub state: Option<NegState>,
    /// supportedMech, without tag and length.
    pub supported_mech: Option<&'a [u8]>,
    /// responseToken.
    pub response_token: Option<&'a [u8]>,
    /// mechListMIC.
    pub mech_list_mic: Option<&'a [u8]>,
}

impl<'a> NegTokenResp<'a> {
    /// Reads the token.
    ///
    /// # Errors
    /// [`AuthError::Der`], [`AuthError::TooLong`].
    pub fn parse(bytes: &'a [u8]) -> Result<Self, AuthError> {
        der::check_len(bytes)?;
        let token = Reader::new(bytes).only(context(1), "negTokenResp")?;
        let mut fields = token.only(der::SEQUENCE, "NegTokenResp")?;
        let mut state = None;
        if let Some(field) = fields.optional(context(0), "negState")? {
            let value = field.only(der::ENUMERATED, "negState")?;
            let known = NegState::ALL.into_iter().find(|state| value.bytes() == [state.number()]);
            state = Some(known.ok_or_else(|| value.error("negState"))?);
        }
        let mut supported_mech = None;
        if let Some(field) = fields.optional(context(1), "supportedMech")? {
            supported_mech = Some(field.only(der::OID, "supportedMech")?.bytes());
        }
        let response_token = octets(&mut fields, 2, "responseToken")?;
        let mech_list_mic = octets(&mut fields, 3, "mechListMIC")?;
        fields.end()?;
        Ok(Self { state, supported_mech, response_token, mech_list_mic })
    }

    /// Writes the token.
    ///
    /// # Errors
    /// [`AuthError::TooLong`].
    pub fn write(&self) -> Result<Vec<u8>, AuthError> {
        let mut fields = Vec::new();
        if let Some(state) = self.state {
            der::write(&mut fields, context(0), &der::value(der::ENUMERATED, &[state.number()])?)?;
        }
        if let Some(name) = self.supported_mech {
            der::write(&mut fields, context(1), &der::value(der::OID, name)?)?;
        }
        write_octets(&mut fields, 2, self.response_token)?;
        write_octets(&mut fields, 3, self.mech_list_mic)?;
        der::value(context(1), &der::value(der::SEQUENCE, &fields)?)
    }
}

/// An optional field that is an OCTET STRING.
fn octets<'a>(
    fields: &mut Reader<'a>,
    number: u8,
    name: &'static str,
) -> Result<Option<&'a [u8]>, AuthError> {
    let field = fields.optional(context(number), name)?;
    field.map(|field| field.only(der::OCTET_STRING, name).map(|value| value.bytes())).transpose()
}

fn write_octets(fields: &mut Vec<u8>, number: u8, bytes: Option<&[u8]>) -> Result<(), AuthError> {
    match bytes {
        Some(bytes) => der::write(fields, context(number), &der::value(der::OCTET_STRING, bytes)?),
        None => Ok(()),
    }
}
