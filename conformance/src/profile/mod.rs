//! Profiles of products: files of `conformance/profiles`, or a file of the same format.
//!
//! A profile has the settings of the script for a product, and the known deviations of the product from the
//! specification. A play with known failures only is [`Outcome::Known`]. Known failures that were not found are listed,
//! too.
//!
//! [`Outcome::Known`]: crate::suite::Outcome::Known

mod known;
#[cfg(test)]
mod tests;

use std::fs;
use std::path::Path;

use serde::Deserialize;
use thiserror::Error;

use crate::catalogue::{Catalogue, UnderTest};
use crate::suite::Usual;
pub use known::Known;

/// A product.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// For reports.
    pub name: String,
    /// The part of it that accepts.
    pub acceptor: Side,
    /// The part of it that connects.
    pub initiator: Side,
    /// What it does otherwise than the specification says.
    #[serde(default)]
    pub known: Vec<Known>,
}

/// One side of a product.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Side {
    /// For reports.
    pub name: String,
    /// What the script does otherwise for it than usual.
    #[serde(default)]
    pub script: Usual,
}

/// The profiles this was built with: name and contents.
const BUILT_IN: [(&str, &str); 2] = [
    ("linux-6.12", include_str!("../../profiles/linux-6.12.toml")),
    ("linux-7.3", include_str!("../../profiles/linux-7.3.toml")),
];

/// There is no such profile, or it is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProfileError {
    /// No profile has that name.
    #[error("no profile `{0}`; there are: linux-6.12, linux-7.3, and files whose name ends with .toml")]
    Unknown(String),
    /// It cannot be read, or says something else than a profile does.
    #[error("profile `{name}`: {why}")]
    Malformed {
        /// Which.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// It names what the catalogue does not have.
    #[error("profile `{profile}` names the {what} `{name}`, which there is not{hint}")]
    Unheard {
        /// Which.
        profile: String,
        /// `case` or `statement`.
        what: &'static str,
        /// What it names.
        name: String,
        /// In which role the case is played, if that is what is wrong.
        hint: String,
    },
}

impl Profile {
    /// The profile of this name: one that was built in, or a file whose name ends with `.toml`.
    ///
    /// # Errors
    /// There is none, or it cannot be read.
    pub fn named(name: &str) -> Result<Self, ProfileError> {
        let malformed = |why: String| ProfileError::Malformed { name: name.to_owned(), why };
        if let Some((_, text)) = BUILT_IN.iter().find(|(known, _)| *known == name) {
            return Self::parse(text).map_err(malformed);
        }
        if Path::new(name).extension().is_none_or(|extension| extension != "toml") {
            return Err(ProfileError::Unknown(name.to_owned()));
        }
        let text = fs::read_to_string(name).map_err(|error| malformed(error.to_string()))?;
        Self::parse(&text).map_err(malformed)
    }

    /// The profile that this text is.
    ///
    /// # Errors
    /// What is wrong with it, with its line.
    pub fn parse(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| error.to_string())
    }

    /// Whether all that it names is there.
    ///
    /// # Errors
    /// The first case or statement that is not.
    pub fn check(&self, catalogue: &Catalogue) -> Result<(), ProfileError> {
        let unheard = |what, name: &str, hint: &str| ProfileError::Unheard {
            profile: self.name.clone(),
            what,
            name: name.to_owned(),
            hint: hint.to_owned(),
        };
        for known in &self.known {
            for id in &known.statements {
                catalogue.statement(id).ok_or_else(|| unheard("statement", &id.to_string(), ""))?;
            }
            for name in known.finds.keys() {
                let case = catalogue.case(name).ok_or_else(|| unheard("case", name, ""))?;
                if !case.role.includes(known.role) {
                    let hint = format!(" with the {} under test", known.role);
                    return Err(unheard("case", name, &hint));
                }
            }
        }
        Ok(())
    }

    /// The side that is under test in this role.
    #[must_use]
    pub const fn side(&self, role: UnderTest) -> &Side {
        match role {
            UnderTest::Initiator => &self.initiator,
            UnderTest::Acceptor | UnderTest::Both => &self.acceptor,
        }
    }
}
