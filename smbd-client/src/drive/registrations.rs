//! Memory that the server can use: from its registration to the end of that.

use std::collections::BTreeMap;

use smbd_core::error::{CommandError, RegisterError, RegistrationError};
use smbd_core::{BufferDescriptorV1, Instant};
use smbd_link::Failure;
use smbd_smb2::client::{Client, Refused, RegistrationId};

/// The part of each registered buffer that the server is told of.
#[derive(Debug, Default)]
pub(super) struct Registrations {
    parts: BTreeMap<RegistrationId, Part>,
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
        result: Result<Vec<BufferDescriptorV1>, Failure<E>>,
    ) -> Follows {
        match result {
            Ok(descriptors) => {
                let part = self.parts.get(&of).and_then(|part| part_of(descriptors, *part));
                let Some(part) = part else {
                    self.parts.remove(&of);
                    // Refused are only those that the client does not know any more.
                    let _ = client.not_registered(now, of);
                    return Follows::Deregister;
                };
                if let Err(Refused::Wire(_) | Refused::Descriptors { .. }) = client.registered(of, &part) {
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

/// The descriptors of a part of what `descriptors` describe, in their place; `None` if they are shorter.
fn part_of(
    mut descriptors: Vec<BufferDescriptorV1>,
    Part { offset, len }: Part,
) -> Option<Vec<BufferDescriptorV1>> {
    let (mut skip, mut left, mut is_valid) = (offset, len, true);
    descriptors.retain_mut(|descriptor| {
        let skipped = skip.min(descriptor.length);
        let taken = left.min(descriptor.length.saturating_sub(skipped));
        skip = skip.saturating_sub(skipped);
        left = left.saturating_sub(taken);
        match descriptor.offset.checked_add(skipped.into()) {
            Some(offset) => (descriptor.offset, descriptor.length) = (offset, taken),
            None => is_valid &= taken == 0,
        }
        taken > 0
    });
    (left == 0 && is_valid).then_some(descriptors)
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
            let part = part_of(descriptors.clone(), Part { offset, len }).map(|part| bytes(&part));
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
