//! What has to be in a worker's directory.

use std::collections::{BTreeMap, BTreeSet};

use smbd_testkit::{Breach, law};

/// The names in a directory.
#[derive(Debug, Default)]
pub struct Names {
    /// What is there, with its content.
    pub known: BTreeMap<String, Vec<u8>>,
    /// What may be there.
    pub unsure: BTreeSet<String>,
    made: usize,
}

impl Names {
    /// A name that was never used.
    pub fn new_name(&mut self) -> String {
        self.made += 1;
        format!("t{}", self.made)
    }

    /// Nobody knows whether it is there.
    pub fn doubt(&mut self, name: String) {
        self.known.remove(&name);
        self.unsure.insert(name);
    }

    /// Whether a listing has what it has to have.
    pub fn is_listed(&self, listed: &[String]) -> Result<(), Breach> {
        let Self { known, unsure, .. } = self;
        let got: BTreeSet<&str> = listed.iter().map(String::as_str).collect();
        law!("results", got.len() == listed.len(), "a name is listed twice: {listed:?}");
        let missing = known.keys().map(String::as_str).chain(["f"]).find(|name| !got.contains(name));
        law!("results", missing.is_none(), "{missing:?} is not listed: {listed:?}");
        let is_odd = |name: &&&str| **name != "f" && !known.contains_key(**name) && !unsure.contains(**name);
        let odd = got.iter().find(is_odd);
        law!("results", odd.is_none(), "{odd:?} is listed, and not there: {listed:?}");
        Ok(())
    }
}
