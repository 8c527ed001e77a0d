//! What is known of products: `conformance/profiles`.

use serde::Deserialize;
use thiserror::Error;

use crate::suite::Usual;

/// A product.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// For reports.
    pub name: String,
    /// What the script says instead of its usual values.
    pub script: Usual,
}

/// The profiles this was built with: name and contents.
const KNOWN: [(&str, &str); 1] = [("linux-6.12", include_str!("../profiles/linux-6.12.toml"))];

/// There is no such profile, or it cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProfileError {
    /// No profile has that name.
    #[error("no profile `{0}`; there are: linux-6.12")]
    Unknown(String),
    /// What this was built with is no profile.
    #[error("profile `{name}`: {why}")]
    Malformed {
        /// Which.
        name: String,
        /// What is wrong with it.
        why: String,
    },
}

impl Profile {
    /// The profile of this name.
    ///
    /// # Errors
    /// There is none, or it cannot be read.
    pub fn named(name: &str) -> Result<Self, ProfileError> {
        let found = KNOWN.iter().find(|(known, _)| *known == name);
        let (_, text) = found.ok_or_else(|| ProfileError::Unknown(name.to_owned()))?;
        toml::from_str(text)
            .map_err(|error| ProfileError::Malformed { name: name.to_owned(), why: error.to_string() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_are_built_in_can_be_read() {
        for (name, _) in KNOWN {
            assert!(Profile::named(name).is_ok_and(|profile| profile.script.max_fragmented_size > 131_072));
            assert!(ProfileError::Unknown(String::new()).to_string().contains(name));
        }
    }

    #[test]
    fn others_are_named_in_the_error() {
        let error = Profile::named("beos").unwrap_err();
        assert_eq!(error.to_string(), "no profile `beos`; there are: linux-6.12");
    }
}
