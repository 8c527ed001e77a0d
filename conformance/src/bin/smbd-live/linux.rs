//! The Linux of the guests, and the figures in which its ksmbd differs between releases.

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

    /// Its SMB server.
    pub(crate) const fn ksmbd(self) -> &'static Ksmbd {
        match self {
            Self::V6_12 => &KSMBD_6_12,
            Self::V7_3 => &KSMBD_7_3,
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
