//! The user `tester`, a server that knows only this user, and a client of it.

use std::sync::Arc;

use smbd_client::{Error, Remote, Session, Settings};
use smbd_smb2::security::{Credentials, NtHash, capital};
use smbd_smb2::server::{Params, Server};
use smbd_smb2::wire::Guid;

/// A FILETIME of 2026.
pub const NOW: u64 = 0x01dc_5000_0000_0000;
pub const PASSWORD: &str = "correct horse";

pub fn credentials(user: &str, password: &str) -> Credentials {
    let hash = NtHash::of_password(password);
    Credentials::User { user: user.into(), domain: String::new(), hash }
}

/// A server with these parameters, but for those that `change` sets.
///
/// # Panics
/// `change` has set what is no valid parameter.
pub fn server(change: impl FnOnce(&mut Params)) -> Arc<Server> {
    let mut params = Params::new(Guid([0x51; 16]), "SERVER");
    change(&mut params);
    let accounts = |user: &str, _: &str| (capital(user) == "TESTER").then(|| NtHash::of_password(PASSWORD));
    Arc::new(Server::new(params, accounts).expect("valid parameters"))
}

pub fn settings() -> Settings {
    Settings::new("server")
}

/// Logs `tester` in.
///
/// # Errors
/// Those of [`Remote::login`].
pub async fn login(remote: &Remote, password: &str) -> Result<Session, Error> {
    login_as(remote, "tester", password).await
}

/// Logs a user in.
///
/// # Errors
/// Those of [`Remote::login`].
pub async fn login_as(remote: &Remote, user: &str, password: &str) -> Result<Session, Error> {
    remote.login(credentials(user, password)).await
}
