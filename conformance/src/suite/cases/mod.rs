//! The code of the cases, one file for each group of `requirements/cases.toml`.

mod closing;
mod credits;
mod examples;
mod fragments;
mod keepalive;
mod limits;
mod negotiate;
mod rdma;
mod smb2;
mod smbd_credit_mgmt;
mod smbd_data_transfer;
mod smbd_negotiate;
mod survival;
mod upper;

use super::outcome::Stop;
use super::play::Play;
use super::rig::Settings;

/// The code of one case.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its name in the catalogue.
    pub name: &'static str,
    /// What is done.
    pub play: fn(&mut Play) -> Result<(), Stop>,
    /// Settings of the subject, where its usual ones will not do.
    pub settings: Option<Settings>,
}

impl Entry {
    const fn new(name: &'static str, play: fn(&mut Play) -> Result<(), Stop>) -> Self {
        Self { name, play, settings: None }
    }

    const fn with(self, settings: Settings) -> Self {
        Self { settings: Some(settings), ..self }
    }
}

/// All cases, by group.
const GROUPS: [&[Entry]; 19] = [
    smbd_negotiate::CASES,
    smbd_data_transfer::CASES,
    smbd_credit_mgmt::CASES,
    examples::CASES,
    negotiate::CASES,
    credits::CASES,
    fragments::CASES,
    keepalive::CASES,
    rdma::CASES,
    closing::CASES,
    limits::CASES,
    upper::CASES,
    survival::CASES,
    smb2::CHANNEL,
    smb2::INVALIDATION,
    smb2::TRANSFORMS,
    smb2::SEVERAL_CHANNELS,
    smb2::CASES,
    smb2::OF_CLIENTS,
];

/// The code of all cases.
pub fn all() -> impl Iterator<Item = &'static Entry> {
    GROUPS.into_iter().flatten()
}

/// The code of one case.
#[must_use]
pub fn find(name: &str) -> Option<&'static Entry> {
    all().find(|entry| entry.name == name)
}
