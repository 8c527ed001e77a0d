//! What is said of a connection.

use smbd_smb2::relay::Statistics;
use smbd_smb2::wire::Dialect;

use smbd_daemon::log::Line;

/// What a connection was seen to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) dialect: Option<Dialect>,
    pub(crate) has_session: bool,
    pub(crate) uses_rdma: bool,
    pub(crate) is_signed: bool,
    pub(crate) is_encrypted: bool,
}

impl Kind {
    pub(crate) fn of(statistics: &Statistics, dialect: Option<Dialect>, has_session: bool) -> Self {
        let sessions = &statistics.sessions;
        Self {
            dialect,
            has_session,
            uses_rdma: sessions.rdma > 0,
            is_signed: sessions.signed > 0,
            is_encrypted: sessions.encrypted > 0,
        }
    }

    /// In a word: none, open (nothing was seen that would tell), rdma, signed, encrypted, or several of them.
    pub(crate) fn word(self) -> String {
        if !self.has_session {
            return "none".into();
        }
        let seen = [(self.uses_rdma, "rdma"), (self.is_signed, "signed"), (self.is_encrypted, "encrypted")];
        let words: Vec<&str> =
            seen.into_iter().filter_map(|(is_seen, word)| is_seen.then_some(word)).collect();
        if words.is_empty() { "open".into() } else { words.join("+") }
    }

    /// Why READs and WRITEs do not go by RDMA; `None` if they do.
    pub(crate) const fn why_no_rdma(self) -> Option<&'static str> {
        if self.uses_rdma || !self.has_session {
            None
        } else if self.is_encrypted {
            Some("its session is encrypted, and clients use RDMA without encryption only")
        } else if self.is_signed {
            Some("its session is signed: if neither client nor server require signing, clients use RDMA")
        } else {
            Some("it has read and written nothing, or little at a time (Linux: below 4096 bytes)")
        }
    }

    /// Adds all of it to a line.
    pub(crate) fn tell(self, line: Line) -> Line {
        line.maybe("dialect", self.dialect).with("session", self.word()).maybe("no_rdma", self.why_no_rdma())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_without_rdma_has_a_reason_unless_it_has_no_session() {
        let session = Kind { has_session: true, ..Kind::default() };
        let rdma = Kind { uses_rdma: true, is_signed: true, ..session };
        assert_eq!((rdma.word().as_str(), rdma.why_no_rdma()), ("rdma+signed", None));
        let none = Kind::default();
        assert_eq!((none.word().as_str(), none.why_no_rdma()), ("none", None));
        for (kind, word, part) in [
            (session, "open", "little at a time"),
            (Kind { is_signed: true, ..session }, "signed", "require signing"),
            (Kind { is_encrypted: true, ..session }, "encrypted", "without encryption"),
        ] {
            assert_eq!(kind.word(), word);
            assert!(kind.why_no_rdma().unwrap().contains(part), "{word}");
        }
    }
}
