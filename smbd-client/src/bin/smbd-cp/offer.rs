//! What is offered to a server, where the user has a say in it.

use std::fmt::Display;

use clap::Args;
use smbd_client::Settings;
use smbd_smb2::wire::{Cipher, Dialect, SigningAlgorithm};

const DIALECTS: [Dialect; 3] = [Dialect::SMB_3_0, Dialect::SMB_3_0_2, Dialect::SMB_3_1_1];
const CIPHERS: [Cipher; 4] =
    [Cipher::AES_128_CCM, Cipher::AES_128_GCM, Cipher::AES_256_CCM, Cipher::AES_256_GCM];

/// Without an option all that is known is offered.
#[derive(Debug, Args)]
pub(crate) struct Offer {
    /// Offers this dialect alone: 3.0, 3.0.2 or 3.1.1
    #[arg(long, value_name = "DIALECT", value_parser = dialect)]
    dialect: Option<Dialect>,
    /// Offers these ciphers, the preferred one first: aes-128-ccm, aes-128-gcm, aes-256-ccm, aes-256-gcm. Those besides the first one
    /// need dialect 3.1.1
    #[arg(long, value_name = "CIPHER,...", value_delimiter = ',', value_parser = cipher)]
    cipher: Vec<Cipher>,
    /// Signs with one of these, the preferred one first: hmac-sha256, aes-cmac, aes-gmac. Those besides aes-cmac need dialect 3.1.1. A
    /// server that signs otherwise is left
    #[arg(long, value_name = "ALGORITHM,...", value_delimiter = ',', value_parser = signing)]
    signing: Vec<SigningAlgorithm>,
    /// Over SMB Direct, data go in messages and never by RDMA
    #[arg(long)]
    rdma_messages: bool,
}

impl Offer {
    /// Settings with what is offered.
    ///
    /// # Errors
    /// The options cannot be had together.
    pub(crate) fn settings(&self, usual: Settings) -> Result<Settings, String> {
        let newest = Dialect::SMB_3_1_1;
        let (min, max) = match self.dialect {
            Some(dialect) => (dialect, dialect),
            None => (usual.min_dialect, usual.max_dialect),
        };
        let has_old_cipher = self.cipher.is_empty() || self.cipher.contains(&Cipher::AES_128_CCM);
        let has_old_signing = self.signing.is_empty() || self.signing.contains(&SigningAlgorithm::AES_CMAC);
        if max < newest && !has_old_cipher {
            return Err(format!("--cipher: dialect {max} has aes-128-ccm only; the others need 3.1.1"));
        }
        if max < newest && !has_old_signing {
            return Err(format!("--signing: dialect {max} signs with aes-cmac only; the others need 3.1.1"));
        }
        Ok(Settings {
            min_dialect: if has_old_cipher && has_old_signing { min } else { newest },
            max_dialect: max,
            ciphers: or(&self.cipher, usual.ciphers),
            signing: or(&self.signing, usual.signing),
            rdma_threshold: usual.rdma_threshold.filter(|_| !self.rdma_messages),
            ..usual
        })
    }

    /// Checks what the server has chosen: without an answer about algorithms, it signs with AES-CMAC (3.2.5.2).
    ///
    /// # Errors
    /// It signs with another algorithm than was offered.
    pub(crate) fn check(&self, chosen: SigningAlgorithm) -> Result<(), String> {
        if self.signing.is_empty() || self.signing.contains(&chosen) {
            return Ok(());
        }
        Err(format!("the server signs with {chosen}, and --signing has {} only", names(&self.signing)))
    }
}

fn or<T: Clone>(given: &[T], usual: Vec<T>) -> Vec<T> {
    if given.is_empty() { usual } else { given.to_vec() }
}

fn dialect(text: &str) -> Result<Dialect, String> {
    one_of(&DIALECTS, text)
}

fn cipher(text: &str) -> Result<Cipher, String> {
    one_of(&CIPHERS, text)
}

fn signing(text: &str) -> Result<SigningAlgorithm, String> {
    one_of(SigningAlgorithm::NAMED, text)
}

/// The value of this name, in any capitals.
fn one_of<T: Copy + Display>(known: &[T], text: &str) -> Result<T, String> {
    let found = known.iter().find(|value| value.to_string().eq_ignore_ascii_case(text));
    found.copied().ok_or_else(|| format!("it has to be one of {}", names(known)))
}

fn names<T: Display>(values: &[T]) -> String {
    let names: Vec<String> = values.iter().map(|value| value.to_string().to_ascii_lowercase()).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(dialect: Option<Dialect>, cipher: &[Cipher], signing: &[SigningAlgorithm]) -> Offer {
        Offer { dialect, cipher: cipher.to_vec(), signing: signing.to_vec(), rdma_messages: false }
    }

    fn dialects(offer: &Offer) -> Result<(Dialect, Dialect), String> {
        let settings = offer.settings(Settings::new("server"))?;
        Ok((settings.min_dialect, settings.max_dialect))
    }

    #[test]
    fn names_are_taken_in_any_capitals_and_others_are_told_the_choices() {
        assert_eq!(dialect("3.0.2"), Ok(Dialect::SMB_3_0_2));
        assert_eq!(cipher("aes-256-GCM"), Ok(Cipher::AES_256_GCM));
        assert_eq!(signing("hmac-sha256"), Ok(SigningAlgorithm::HMAC_SHA256));
        assert_eq!(dialect("2.1"), Err("it has to be one of 3.0, 3.0.2, 3.1.1".into()));
        let ciphers = "it has to be one of aes-128-ccm, aes-128-gcm, aes-256-ccm, aes-256-gcm";
        assert_eq!(cipher("none"), Err(ciphers.into()));
        assert_eq!(signing(""), Err("it has to be one of hmac-sha256, aes-cmac, aes-gmac".into()));
    }

    #[test]
    fn what_only_the_newest_dialect_has_leaves_the_others_out() {
        let (old, newest) = (Dialect::SMB_3_0, Dialect::SMB_3_1_1);
        let (cmac, gmac) = (SigningAlgorithm::AES_CMAC, SigningAlgorithm::AES_GMAC);
        assert_eq!(dialects(&offer(None, &[], &[])), Ok((old, newest)));
        assert_eq!(dialects(&offer(None, &[Cipher::AES_128_GCM], &[])), Ok((newest, newest)));
        assert_eq!(dialects(&offer(None, &[], &[gmac])), Ok((newest, newest)));
        let both = [Cipher::AES_256_CCM, Cipher::AES_128_CCM];
        assert_eq!(dialects(&offer(None, &both, &[gmac, cmac])), Ok((old, newest)));
        assert_eq!(dialects(&offer(Some(old), &both, &[cmac])), Ok((old, old)));
        let wrong = dialects(&offer(Some(old), &[Cipher::AES_256_CCM], &[])).unwrap_err();
        assert_eq!(wrong, "--cipher: dialect 3.0 has aes-128-ccm only; the others need 3.1.1");
        let wrong = dialects(&offer(Some(Dialect::SMB_3_0_2), &[], &[gmac])).unwrap_err();
        assert_eq!(wrong, "--signing: dialect 3.0.2 signs with aes-cmac only; the others need 3.1.1");
    }

    #[test]
    fn a_server_that_signs_otherwise_than_was_asked_for_is_left() {
        let (cmac, gmac) = (SigningAlgorithm::AES_CMAC, SigningAlgorithm::AES_GMAC);
        assert_eq!(offer(None, &[], &[]).check(cmac), Ok(()));
        assert_eq!(offer(None, &[], &[gmac, cmac]).check(cmac), Ok(()));
        let left = "the server signs with AES-CMAC, and --signing has aes-gmac only";
        assert_eq!(offer(None, &[], &[gmac]).check(cmac), Err(left.into()));
    }
}
