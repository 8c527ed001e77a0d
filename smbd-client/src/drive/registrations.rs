//! Memory that the server can use: from its registration to the end of that.

use std::collections::BTreeMap;
use std::sync::Arc;

use smbd_core::error::{CommandError, RegisterError, RegistrationError};
use smbd_core::{BufferDescriptorV1, Instant};
use smbd_link::Failure;
use smbd_smb2::client::{Client, Refused, RegistrationId};

/// The part of each registered buffer that the server is told of.
#[derive(Debug, Default)]
pub(super) struct Registrations {
    parts: BTreeMap<RegistrationId, Part>,
    /// The descriptors of a part, while the client is told of them.
    described: Vec<BufferDescriptorV1>,
}

/// A part of a buffer, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) offset: u32,
    pub(super) len: u32,
}

/// What is to be done behind an event of a registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Follows {
    Nothing,
    /// Nobody has a use for the registration.
    Deregister,
    /// Whether the server has access is not known: it ends with the connection.
    Close,
}

impl Registrations {
    /// Memory is being registered, of which this part is for the server.
    pub(super) fn begin(&mut self, of: RegistrationId, part: Part) {
        self.parts.insert(of, part);
    }

    /// The end of a registration is wanted. Whether there is one.
    pub(super) fn end(&mut self, of: RegistrationId) -> bool {
        self.parts.remove(&of).is_some()
    }

    /// Memory was registered. The part that is wanted of it may not be in it.
    pub(super) fn registered<E>(
        &mut self,
        client: &mut Client,
        now: Instant,
        of: RegistrationId,
        result: Result<Arc<[BufferDescriptorV1]>, Failure<E>>,
    ) -> Follows {
        match result {
            Ok(descriptors) => {
                let described = &mut self.described;
                if !self.parts.get(&of).is_some_and(|part| describe(&descriptors, *part, described)) {
                    self.parts.remove(&of);
                    // Refused are only those that the client does not know any more.
                    let _ = client.not_registered(now, of);
                    return Follows::Deregister;
                }
                if let Err(Refused::Wire(_) | Refused::Descriptors { .. }) = client.registered(of, described)
                {
                    let _ = client.not_registered(now, of);
                }
                Follows::Nothing
            }
            // The transfer is no worse than any other that was under way: it can go on at another connection.
            Err(failure) if ends(&failure) => Follows::Close,
            Err(_) => {
                self.parts.remove(&of);
                let _ = client.not_registered(now, of);
                Follows::Nothing
            }
        }
    }
}

/// Whether memory was not registered because the connection ends.
const fn ends<E>(failure: &Failure<E>) -> bool {
    matches!(
        failure,
        Failure::Register(RegisterError::Command(CommandError::Closing))
            | Failure::Registration(RegistrationError::Aborted(_))
    )
}

/// Puts the descriptors of a part of what `whole` describes to `part`; false if that is shorter.
fn describe(
    whole: &[BufferDescriptorV1],
    Part { offset, len }: Part,
    part: &mut Vec<BufferDescriptorV1>,
) -> bool {
    let (mut skip, mut left) = (offset, len);
    part.clear();
    for descriptor in whole {
        let skipped = skip.min(descriptor.length);
        let taken = left.min(descriptor.length.saturating_sub(skipped));
        skip = skip.saturating_sub(skipped);
        left = left.saturating_sub(taken);
        if taken > 0 {
            let Some(offset) = descriptor.offset.checked_add(skipped.into()) else { return false };
            part.push(BufferDescriptorV1 { offset, length: taken, ..*descriptor });
        }
    }
    left == 0
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use proptest::prelude::*;
    use smbd_core::Token;

    use super::*;

    proptest! {
        #[test]
        fn a_part_is_the_same_bytes_as_in_the_whole(lengths in prop::collection::vec(1..9_u32, 1..5), offset in 0..40_u32, len in 0..40_u32) {
            let descriptors: Vec<_> = lengths.iter().zip(1..).map(|(length, token)| {
                BufferDescriptorV1 { offset: u64::from(token) * 1000, token: Token(token), length: *length }
            }).collect();
            let bytes = |descriptors: &[BufferDescriptorV1]| -> Vec<(Token, u64)> {
                let each = descriptors.iter().flat_map(|it| (0..it.length).map(|at| (it.token, it.offset + u64::from(at))));
                each.collect()
            };
            let all = bytes(&descriptors);
            let expected = all.get(offset as usize..(offset + len) as usize);
            let mut part = Vec::new();
            let part = describe(&descriptors, Part { offset, len }, &mut part).then(|| bytes(&part));
            // Nothing of it is a part wherever it is said to begin.
            prop_assert_eq!(part.as_deref(), if len == 0 { Some(&[][..]) } else { expected });
        }
    }

    #[test]
    fn memory_is_refused_on_a_connection_that_goes_on_and_not_by_its_end() {
        let refused = |error| Failure::<Infallible>::Register(error);
        assert!(ends(&refused(CommandError::Closing.into())));
        assert!(!ends(&refused(CommandError::NoRoom { what: "registrations" }.into())));
        assert!(!ends(&refused(RegisterError::Segments { segments: 300, max: 256 })));
    }
}
