//! The Linux of the guests, and the figures in which its ksmbd and its cifs differ between releases.

use std::fs;
use std::ops::RangeInclusive;

use crate::case::Failure;

/// A release whose behaviour the tests know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Linux {
    /// 6.12, and whatever is older than 7.2.
    V6_12,
    /// 7.3, and whatever has its engine of SMB Direct (`fs/smb/smbdirect`): 7.2 and newer.
    V7_3,
}

impl Linux {
    /// The kernel of this host. Of two guests, both have the same.
    pub(crate) fn running() -> Result<Self, Failure> {
        let release = fs::read_to_string("/proc/sys/kernel/osrelease")?;
        Ok(Self::of(&release).ok_or_else(|| format!("{release:?} is no release of Linux"))?)
    }

    /// That of a release as `uname -r` prints it.
    fn of(release: &str) -> Option<Self> {
        let (major, rest) = release.split_once('.')?;
        let minor = rest.split(|c: char| !c.is_ascii_digit()).next()?;
        let version: (u32, u32) = (major.parse().ok()?, minor.parse().ok()?);
        Some(if version < (7, 2) { Self::V6_12 } else { Self::V7_3 })
    }

    /// Its profile in the conformance suite.
    pub(crate) const fn profile(self) -> &'static str {
        match self {
            Self::V6_12 => "linux-6.12",
            Self::V7_3 => "linux-7.3",
        }
    }

    /// Its SMB server.
    pub(crate) const fn ksmbd(self) -> &'static Ksmbd {
        match self {
            Self::V6_12 => &KSMBD_6_12,
            Self::V7_3 => &KSMBD_7_3,
        }
    }

    /// Its SMB client.
    pub(crate) const fn cifs(self) -> &'static Cifs {
        match self {
            Self::V6_12 => &CIFS_6_12,
            Self::V7_3 => &CIFS_7_3,
        }
    }
}

/// What differs between the releases of ksmbd. What does not is in the tests.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ksmbd {
    /// CreditsGranted of the Negotiate Response: CreditsRequested within these bounds (3.1.5.6).
    first_grant: RangeInclusive<u16>,
    /// MaxReceiveSize of the Negotiate Response: PreferredSendSize of the request within these bounds (3.1.5.6).
    receive_size: RangeInclusive<u32>,
    /// The least MaxReceiveSize that it takes. 3.1.5.6 wants 128 to be taken.
    pub(crate) least_receive_size: u32,
    /// The least MaxFragmentedSize that it takes. 3.1.5.6 wants 131,072 to be taken.
    pub(crate) least_fragmented_size: u32,
    /// Whether a refusal can be a silence on RoCE: a request that overtakes the last message of the connection's setup
    /// makes ksmbd disconnect what it does not know to be connected (3.1.5.6 wants the connection terminated).
    pub(crate) may_refuse_in_silence: bool,
    /// Whether it can lose a request that is there before the connection is ([`crate::ksmbd`], `race`).
    pub(crate) may_lose_a_request: bool,
    /// Most credits that come back with the answer to a first message (3.1.5.9).
    pub(crate) renewed_by_an_answer: u16,
    /// The least number of credits that a client has after an answer to a probe, over many probes (3.1.5.9).
    pub(crate) least_credits: RangeInclusive<u32>,
    /// Credits that one grant renews, when only probes are sent (3.1.5.9).
    pub(crate) renewed_at_once: RangeInclusive<u64>,
}

/// It posts 255 receives, one of which has the request, before it reads what was asked, and posts again when an eighth of
/// them is left. Its thread that grants need not run before more probes have come.
const KSMBD_6_12: Ksmbd = Ksmbd {
    first_grant: 254..=254,
    receive_size: 0..=1364,
    least_receive_size: 129,
    least_fragmented_size: 131_073,
    may_refuse_in_silence: true,
    may_lose_a_request: true,
    renewed_by_an_answer: 0,
    least_credits: 1..=32,
    renewed_at_once: 101..=255,
};

/// It posts as many receives as were asked for, and each again as soon as it has read what came in it. The credit comes with
/// the answer, or with one of the next two: another thread of the kernel posts.
const KSMBD_7_3: Ksmbd = Ksmbd {
    first_grant: 1..=255,
    receive_size: 128..=1364,
    least_receive_size: 128,
    least_fragmented_size: 131_072,
    may_refuse_in_silence: false,
    may_lose_a_request: false,
    renewed_by_an_answer: 1,
    least_credits: 252..=255,
    renewed_at_once: 1..=3,
};

impl Ksmbd {
    /// CreditsGranted of the Negotiate Response to a client that asks for so many.
    pub(crate) fn grants(&self, credits_requested: u16) -> u16 {
        credits_requested.clamp(*self.first_grant.start(), *self.first_grant.end())
    }

    /// MaxReceiveSize of the Negotiate Response to a client that prefers to send so much.
    pub(crate) fn receives(&self, preferred_send_size: u32) -> u32 {
        preferred_send_size.clamp(*self.receive_size.start(), *self.receive_size.end())
    }
}

/// What differs between the releases of cifs. What does not is in the tests.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Cifs {
    /// Whether it looks for a server at 5445 whatever the kind of link. 2.1 has that port for iWARP only.
    pub(crate) any_link_at_5445: bool,
    /// What it logs if nobody is there, or it does not look: of 7.3, at each mount by RoCE.
    pub(crate) nobody_at_5445: &'static str,
    /// How its errors of SMB Direct begin in the kernel's log.
    pub(crate) errors: &'static [&'static str],
    /// How it logs a message with data at DataOffset 0, in whose Flags is 64 (2.2.3).
    pub(crate) takes_header: &'static str,
    /// Messages without data that it sends before its SESSION_SETUP is answered: grants that do not wait for data (3.1.5.9).
    pub(crate) empties: RangeInclusive<u64>,
    /// Whether what it says on an idle connection asks for an answer, as 3.1.6.2 has it.
    pub(crate) probes: bool,
    /// Whether it answers a probe at once, as 3.1.5.8 has it.
    pub(crate) answers_probes: bool,
    /// Whether a program gets zeros behind a READ that is answered with less and then with STATUS_END_OF_FILE, as far as the file goes by
    /// what CREATE said.
    pub(crate) pads_short_reads: bool,
    /// Whether a program may read pages that another client has written since, after a connection of the session was lost, until it reads
    /// again. Over TCP to Samba as well (`docs/linux-7.3.md`).
    pub(crate) reads_stale_pages: bool,
    /// Whether the first read of a mount may bring data that another client has locked. Over TCP to Samba as well.
    pub(crate) reads_past_a_lock: bool,
    /// Whether CreditsRequested 0 in data is taken. 3.1.5.8 wants the connection terminated.
    pub(crate) takes_no_credits_requested: bool,
}

/// It grants all its receives in a message of its own as soon as it has read the Negotiate Response. Its idle timer is started again by what
/// it sends, and what it notes when it is probed is never cleared.
const CIFS_6_12: Cifs = Cifs {
    any_link_at_5445: true,
    nobody_at_5445: "rdma_connect failed port=5445",
    errors: &["VFS: smbd", "VFS: _smbd"],
    takes_header: "data flags 64 data_offset 0 data_length",
    empties: 1..=u64::MAX,
    probes: false,
    answers_probes: false,
    pads_short_reads: false,
    reads_stale_pages: false,
    reads_past_a_lock: false,
    takes_no_credits_requested: true,
};

/// Its engine is that of ksmbd. It grants with the first message that has data, and only receipt counts as life.
const CIFS_7_3: Cifs = Cifs {
    any_link_at_5445: false,
    nobody_at_5445: ":5445 failed: -19",
    errors: &["VFS: smbd", "VFS: _smbd"],
    takes_header: "Flags=0x40, RemainingDataLength=0, DataOffset=0,",
    empties: 0..=0,
    probes: true,
    answers_probes: true,
    pads_short_reads: true,
    reads_stale_pages: true,
    reads_past_a_lock: true,
    takes_no_credits_requested: false,
};

#[cfg(test)]
mod tests {
    use super::Linux;

    #[test]
    fn releases_before_7_2_are_taken_for_6_12_and_later_ones_for_7_3() {
        let old = [
            "6.12.117+deb13-amd64\n",
            "6.12.0",
            "6.1.0-37-amd64",
            "6.18.2",
            "7.0.0",
            "7.1.12-cloud",
            "5.15",
            "7.1",
        ];
        for release in old {
            assert_eq!(Linux::of(release), Some(Linux::V6_12), "{release}");
        }
        for release in ["7.2", "7.2.0-rc1", "7.2-rc7+", "7.3.4\n", "7.10.1", "8.0.0", "10.1.2-custom"] {
            assert_eq!(Linux::of(release), Some(Linux::V7_3), "{release}");
        }
    }

    #[test]
    fn what_is_no_release_is_told_and_not_guessed() {
        for release in ["", "\n", "7", "7.", "7.x", ".3", "v7.3.4", "Linux 7.3", "-7.3"] {
            assert_eq!(Linux::of(release), None, "{release}");
        }
    }
}
