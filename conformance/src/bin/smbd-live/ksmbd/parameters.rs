//! Parameters besides the defaults, over their whole range.

use std::fmt::Write as _;
use std::time::Duration;

use smbd_core::Params;

use super::{connect_here, response_of, smb2_negotiate};
use crate::case::{Case, Context, Outcome, Target};
use crate::expect::{holds, same};
use crate::linux::Linux;
use crate::patience::PATIENCE;
use crate::settings;

pub(super) const CASES: &[Case] = &[
    Case {
        name: "ksmbd::parameters::credits_asked_for",
        target: Target::Ksmbd,
        about: "2 to 255 credits asked for: ksmbd grants as many, or 254 whatever was asked (6.12)",
        run: credits_asked_for,
    },
    Case {
        name: "ksmbd::parameters::credits_offered",
        target: Target::Ksmbd,
        about: "4 to 1024 receives for a server that always asks for 255 credits",
        run: credits_offered,
    },
    Case {
        name: "ksmbd::parameters::receive_sizes",
        target: Target::Ksmbd,
        about: "MaxReceiveSize 129 to 8192: the answer comes in as many fragments as that takes",
        run: receive_sizes,
    },
    Case {
        name: "ksmbd::parameters::send_sizes",
        target: Target::Ksmbd,
        about: "PreferredSendSize 1029 to 8136: the request leaves in as many fragments as that takes",
        run: send_sizes,
    },
    Case {
        name: "ksmbd::parameters::fragmented_sizes",
        target: Target::Ksmbd,
        about: "MaxFragmentedSize 131,073 to the greatest",
        run: fragmented_sizes,
    },
];

/// Longest message of ksmbd, both ways.
const KSMBD_SIZE: u32 = 1364;
/// Bytes before the data of a message.
const HEADER: u32 = 24;

/// Deviation of 6.12 (3.1.5.6: CreditsGranted is what is posted, at most what CreditsRequested asks for): ksmbd has posted
/// 254 receives before it reads the request and grants them all. A client without room for so many sends only has to use
/// fewer; the text gives it no reason to end the connection, and the strict core does not. 7.3 does what the text says.
fn credits_asked_for(context: &Context) -> Outcome {
    let ksmbd = Linux::running()?.ksmbd();
    let asked = [2, 3, 10, 64, 128, 254, 255];
    for send_credit_target in asked {
        let params = Params { send_credit_target, strict: true, ..settings::windows() };
        let mut connection = connect_here(context, params)?;
        let granted = ksmbd.grants(send_credit_target);
        same("CreditsGranted", response_of(&connection)?.credits_granted, granted)?;
        smb2_negotiate(&mut connection)?;
        // One for the request. The grant for the answer may have spent another.
        let left = connection.endpoint().connection().credits().send();
        let most = granted - 1 + ksmbd.renewed_by_an_answer;
        holds((u32::from(granted - 2)..=u32::from(most)).contains(&left), || {
            format!("{left} credits left of {granted} after one message")
        })?;
        connection.close(PATIENCE)?;
    }
    let granted = asked.map(|asked| ksmbd.grants(asked));
    Ok(format!("asked for {asked:?}: granted {granted:?}, used as far as needed"))
}

fn credits_offered(context: &Context) -> Outcome {
    let mut seen = String::new();
    for receive_credit_max in [4, 5, 16, 64, 255, 1024] {
        let params = Params { receive_credit_max, ..settings::windows() };
        let mut connection = connect_here(context, params)?;
        same("CreditsRequested", response_of(&connection)?.credits_requested, 255)?;
        smb2_negotiate(&mut connection)?;
        // Each answer uses one of the receives; with 4 of them they have to come again.
        for _ in 0..12 {
            connection.probe(PATIENCE)?;
        }
        let window = connection.endpoint().connection().credits().window();
        same("receives kept posted", window, u32::from(receive_credit_max.min(255)))?;
        let sent = connection.endpoint().connection().stats().sent;
        write!(seen, " {receive_credit_max}: {} granted in {} messages;", sent.credits, sent.messages)?;
        connection.close(PATIENCE)?;
    }
    Ok(format!("receives{seen} 12 probes answered each time"))
}

fn receive_sizes(context: &Context) -> Outcome {
    let mut seen = String::new();
    for max_receive_size in [129, 130, 152, 256, 511, 512, 1024, 1363, 1364, 1365, 4096, 8192] {
        let params = Params { max_receive_size, strict: true, ..settings::windows() };
        let mut connection = connect_here(context, params)?;
        let longest = max_receive_size.min(KSMBD_SIZE);
        same("PreferredSendSize", response_of(&connection)?.preferred_send_size, longest)?;
        smb2_negotiate(&mut connection)?;
        let received = connection.endpoint().connection().stats().received;
        let fragments = received.bytes.div_ceil(u64::from(longest - HEADER));
        same("messages with data", received.messages - received.empties, fragments)?;
        write!(seen, " {max_receive_size}: {fragments},")?;
        connection.close(PATIENCE)?;
    }
    Ok(format!("messages of the answer:{}", seen.trim_end_matches(',')))
}

fn send_sizes(context: &Context) -> Outcome {
    let mut seen = String::new();
    for max_send_size in [1029, 1030, 1363, 1364, 1365, 4096, 8136] {
        let params = Params { max_send_size, strict: true, ..settings::windows() };
        let mut connection = connect_here(context, params)?;
        let longest = max_send_size.min(KSMBD_SIZE);
        same("MaxReceiveSize", response_of(&connection)?.max_receive_size, longest)?;
        smb2_negotiate(&mut connection)?;
        let sent = connection.endpoint().connection().stats().sent;
        let fragments = sent.bytes.div_ceil(u64::from(longest - HEADER));
        same("messages with data", sent.messages - sent.empties, fragments)?;
        write!(seen, " {max_send_size}: {fragments},")?;
        connection.close(PATIENCE)?;
    }
    Ok(format!("messages of the request:{}", seen.trim_end_matches(',')))
}

fn fragmented_sizes(context: &Context) -> Outcome {
    let sizes = [131_073, 173_910, 1 << 20, u32::MAX >> 1, u32::MAX];
    for max_fragmented_recv_size in sizes {
        let params = Params { max_fragmented_recv_size, ..settings::windows() };
        let mut connection = connect_here(context, params)?;
        smb2_negotiate(&mut connection)?;
        connection.idle(Duration::from_millis(1))?;
        connection.close(PATIENCE)?;
    }
    Ok(format!("{sizes:?} are taken"))
}
