//! Clients are let in, served and logged.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use smbd_daemon::admission::{self, Admission, Pass};
use smbd_daemon::log::Line;
use smbd_daemon::refusals::Refusals;
use smbd_link::transport::Transport;
use smbd_serve::{Counts, End, Host, News, serve};
use smbd_smb2::server::{About, OperationId, Refused};
use tokio::sync::watch;

use crate::log::{line, warning};

/// What all listeners share.
#[derive(Clone)]
pub(crate) struct Clients {
    pub(crate) host: Arc<Host>,
    pub(crate) admission: Arc<Admission>,
    pub(crate) refusals: Arc<Refusals>,
    /// The option that says how many places there are.
    pub(crate) places_of: &'static str,
    pub(crate) stop: watch::Receiver<bool>,
    pub(crate) drain: Duration,
}

impl Clients {
    /// A place for a client, if one is left. Refusals are logged, one line a second at most.
    pub(crate) fn enter(&self, client: SocketAddr, over: &'static str) -> Option<Pass> {
        let why = match self.admission.enter_of_any(client.ip()) {
            Ok(place) => return Some(place),
            Err(admission::Refused::PerClient) => "this address has all its places (--per-client)".to_owned(),
            Err(admission::Refused::LoggingIn) => {
                "this address, or its /64, has all its places for connections without a login (--logging-in)"
                    .to_owned()
            }
            Err(admission::Refused::Connections | admission::Refused::Network) => {
                format!("all places are taken ({})", self.places_of)
            }
        };
        self.refusals.count(move |before| {
            let line = warning("client refused").with("client", client).with("over", over).with("why", why);
            if before > 0 { line.number("others_before", before).write() } else { line.write() }
        });
        None
    }

    /// Serves a client to its end.
    pub(crate) async fn serve(
        self,
        client: SocketAddr,
        over: &'static str,
        transport: impl Transport<OperationId> + Send + 'static,
        place: Pass,
    ) {
        let named = move |what| line(what).with("client", client).with("over", over);
        named("client connected").write();
        let place = Arc::new(place);
        let of_login = Arc::clone(&place);
        let news = move |news: News<'_>| match news {
            News::LoggedIn(about) => {
                if is_known(about) {
                    of_login.logged_in();
                }
                of_session(named("client session"), about).write();
            }
            News::Refused(Refused::Login { user, why }) => {
                named("login failed").warn().with("user", user).with("why", why).write();
            }
            News::Refused(Refused::Dialects { offered }) => {
                let why = "the server has 3.0, 3.0.2 and 3.1.1";
                named("dialects refused").warn().with("offered", offered).with("why", why).write();
            }
            _ => {}
        };
        let End { why, seen } = serve(self.host, transport, self.stop, self.drain, news).await;
        let ended = named("client ended");
        let ended = match seen {
            Some(seen) => of_bytes(of_session(ended, &seen.about), over, seen.counts),
            None => ended,
        };
        ended.with("why", why).write();
        drop(place);
    }
}

/// Whether a client has shown who it is. Everybody can be a guest, so a guest stays among the connections without a login.
fn is_known(about: &About) -> bool {
    about.user.as_ref().is_some_and(|user| !user.is_empty())
}

fn of_session(line: Line, about: &About) -> Line {
    let user = about.user.as_deref().map(|user| if user.is_empty() { "(guest)" } else { user });
    let signing = about.signing.filter(|_| about.is_signed);
    let cipher = about.cipher.filter(|_| about.is_encrypted);
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "no".into());
    line.maybe("user", user)
        .maybe("dialect", about.dialect)
        .with("signed", or_none(signing.map(|signing| signing.to_string())))
        .with("encrypted", or_none(cipher.map(|cipher| cipher.to_string())))
}

fn of_bytes(line: Line, over: &str, counts: Counts) -> Line {
    let line = line.number("bytes_in", counts.messages_in).number("bytes_out", counts.messages_out);
    if over == "tcp" {
        line
    } else {
        line.number("rdma_in", counts.rdma_in).number("rdma_out", counts.rdma_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_is_none_who_has_logged_in() {
        let of = |user: Option<&str>| {
            let user = user.map(str::to_owned);
            is_known(&About {
                user,
                dialect: None,
                signing: None,
                cipher: None,
                is_signed: false,
                is_encrypted: false,
            })
        };
        assert_eq!([of(None), of(Some("")), of(Some("tester"))], [false, false, true]);
    }
}
