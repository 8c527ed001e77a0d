//! The tokens of a registration.

use alloc::vec::Vec;

use smbd_core::wire::{BufferDescriptorV1, Token};

/// The tokens that name a registration and that the server has not invalidated. Most have one, for which nothing is allocated.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    first: Option<Token>,
    others: Vec<Token>,
}

impl Tokens {
    /// Those of all segments, which may share one.
    pub(super) fn set(&mut self, descriptors: &[BufferDescriptorV1]) {
        let mut tokens = descriptors.iter().map(|descriptor| descriptor.token);
        self.first = tokens.next();
        if descriptors.len() > 1 || !self.others.is_empty() {
            self.others.clear();
            self.others.extend(tokens);
        }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.first.is_none() && self.others.is_empty()
    }

    pub(super) fn has(&self, token: Token) -> bool {
        self.first == Some(token) || self.others.contains(&token)
    }

    /// The server has invalidated one. Gives whether it was one of these.
    pub(super) fn remove(&mut self, token: Token) -> bool {
        if self.others.is_empty() {
            return self.first.take_if(|first| *first == token).is_some();
        }
        let before = self.others.len();
        self.others.retain(|other| *other != token);
        self.first.take_if(|first| *first == token).is_some() || self.others.len() < before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_that_segments_share_is_gone_from_all_of_them_and_from_no_other() {
        let descriptors =
            [1, 2, 1].map(|token| BufferDescriptorV1 { offset: 0, token: Token(token), length: 1 });
        let mut tokens = Tokens::default();
        tokens.set(&descriptors);
        assert_eq!([3, 1, 1].map(|token| tokens.remove(Token(token))), [false, true, false]);
        assert!(!tokens.is_empty());
        assert!(tokens.remove(Token(2)) && tokens.is_empty());
    }
}
