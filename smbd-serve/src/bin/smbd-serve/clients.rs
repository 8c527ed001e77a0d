//! Clients are let in, served and logged.

use std::net::SocketAddr;
use std::sync::Arc;

use smbd_daemon::admission::{Pass, Refused as NotAdmitted};
use smbd_daemon::live::Entry;
use smbd_daemon::log::Line;
use smbd_link::transport::Transport;
use smbd_serve::{Counts, End, News, serve};
use smbd_smb2::server::{About, OperationId, Refused};
use tokio::sync::watch;

use crate::connection::{Connection, Way, protection, user};
use crate::counters::Counters;
use crate::shared::Shared;

/// A place for a client that comes from a broker, if one is left. Its network was the broker's to judge.
pub(crate) fn enter(shared: &Shared, client: SocketAddr) -> Option<Pass> {
    match shared.core.admission.enter_of_any(client.ip()) {
        Ok(pass) => return Some(pass),
        Err(NotAdmitted::Connections) if shared.core.settings().forks() => {
            shared.core.refused(client, "too many children (broker.children)");
        }
        Err(why) => shared.core.refused(client, why),
    }
    None
}

/// Serves a client that was let in to its end, or until `stop` tells to finish: that of [`Shared::core`], from before the task was spawned, so
/// that the server waits for it.
pub(crate) async fn attend(
    shared: Arc<Shared>,
    stop: watch::Receiver<bool>,
    (client, way): (SocketAddr, Way),
    transport: impl Transport<OperationId> + Send + 'static,
    pass: Pass,
) {
    let of_line = Arc::clone(&shared);
    let named = move |what| of_line.core.log().line(what).with("client", client).with("over", way.word());
    named("client connected").write();
    Counters::count(&shared.counters.taken);
    let connection = Connection::new(client, way);
    let traffic = Arc::clone(&connection.traffic);
    let known = Arc::new((shared.connections.add(connection), pass));
    let (of_news, of_end, counters) = (Arc::downgrade(&known), named.clone(), Arc::clone(&shared.counters));
    let news = move |news: News<'_>| {
        if let News::Moved(how, bytes) = news {
            [&*traffic, &counters.traffic].iter().for_each(|traffic| traffic.add(how, bytes));
        } else if let Some(known) = of_news.upgrade() {
            let (entry, pass) = &*known;
            tell(news, &counters, (entry, pass), &named);
        }
    };
    let host = Arc::clone(&shared.host);
    let drain = shared.core.settings().drain;
    let End { why, seen } = serve(host, transport, stop.clone(), drain, news).await;
    // Its place is another one's when that is said.
    drop(known);
    let ended = of_end("client ended");
    let ended = match seen {
        Some(seen) => of_bytes(of_session(ended, &seen.about), way, seen.counts),
        None => ended,
    };
    ended.with("why", why).write();
    // The server may end now.
    drop(stop);
}

/// Something has happened on a connection.
fn tell(
    news: News<'_>,
    counters: &Counters,
    (entry, pass): (&Entry<Connection>, &Pass),
    named: &impl Fn(&'static str) -> Line,
) {
    match news {
        News::Client(number) => entry.update(|connection| connection.number = Some(number)),
        News::LoggedIn(about) => {
            if is_known(about) {
                pass.logged_in();
            }
            Counters::count(&counters.sessions);
            entry.update(|connection| connection.about = Some(about.clone()));
            of_session(named("client session"), about).write();
        }
        News::Refused(Refused::Login { user, why }) => {
            Counters::count(&counters.logins_failed);
            named("login failed").warn().with("user", user).with("why", why).write();
        }
        News::Refused(Refused::Dialects { offered }) => {
            let why = "the server has 3.0, 3.0.2 and 3.1.1";
            named("dialects refused").warn().with("offered", offered).with("why", why).write();
        }
        _ => {}
    }
}

/// Whether a client has shown who it is. Everybody can be a guest, so a guest stays among the connections without a login.
fn is_known(about: &About) -> bool {
    about.user.as_ref().is_some_and(|user| !user.is_empty())
}

fn of_session(line: Line, about: &About) -> Line {
    let [signed, encrypted] = protection(about).map(|word| word.unwrap_or_else(|| "no".into()));
    let line = line.maybe("user", user(about)).maybe("dialect", about.dialect);
    line.with("signed", signed).with("encrypted", encrypted)
}

fn of_bytes(line: Line, way: Way, counts: Counts) -> Line {
    let line = line.number("bytes_in", counts.messages_in).number("bytes_out", counts.messages_out);
    if way == Way::Tcp {
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
            let user = user.map(Into::into);
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
