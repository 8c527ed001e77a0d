//! The report as JSON. Names are those of MS-SMBD and MS-SMB2; times are in microseconds.

use std::time::Duration;

use serde_json::{Value, json};
use smbd_core::Negotiated;
use smbd_core::wire::NegotiateResponse;
use smbd_tools::smb2::Response;

use crate::ping::{Attempt, Report, Trouble};

/// One object.
pub(crate) fn of(report: &Report) -> Value {
    json!({
        "target": report.target,
        "ok": report.is_well(),
        "error": report.trouble.as_ref().map(error),
        "connections": report.connections.iter().map(connection).collect::<Vec<_>>(),
        "probes": report.probes.iter().map(|probe| match probe {
            Ok(time) => json!({ "micros": micros(*time) }),
            Err(trouble) => json!({ "error": error(trouble) }),
        }).collect::<Vec<_>>(),
    })
}

fn error(trouble: &Trouble) -> Value {
    json!({ "what": trouble.what, "advice": trouble.advice })
}

fn micros(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e3
}

fn connection(attempt: &Attempt) -> Value {
    let (settled, time, trouble) = match &attempt.outcome {
        Ok((negotiated, time)) => (Some(settled(negotiated)), Some(micros(*time)), None),
        Err(trouble) => (None, None, Some(error(trouble))),
    };
    json!({
        "address": attempt.address.to_string(),
        "local": attempt.local.map(|local| local.to_string()),
        "device": attempt.device,
        "link": attempt.link.map(|link| link.to_string()),
        "connect_micros": time,
        "error": trouble,
        "received": attempt.received.as_ref().map(received),
        "settled": settled,
        "smb2": attempt.smb2.as_ref().map(|answer| match answer {
            Ok((response, time)) => smb2(response, *time),
            Err(trouble) => json!({ "error": error(trouble) }),
        }),
    })
}

fn received(response: &NegotiateResponse) -> Value {
    json!({
        "MinVersion": response.min_version,
        "MaxVersion": response.max_version,
        "NegotiatedVersion": response.negotiated_version,
        "CreditsRequested": response.credits_requested,
        "CreditsGranted": response.credits_granted,
        "Status": response.status.0,
        "MaxReadWriteSize": response.max_read_write_size,
        "PreferredSendSize": response.preferred_send_size,
        "MaxReceiveSize": response.max_receive_size,
        "MaxFragmentedSize": response.max_fragmented_size,
    })
}

fn settled(settled: &Negotiated) -> Value {
    json!({
        "MaxSendSize": settled.max_send_size,
        "MaxReceiveSize": settled.max_receive_size,
        "MaxFragmentedSendSize": settled.max_fragmented_send_size,
        "MaxFragmentedRecvSize": settled.max_fragmented_recv_size,
        "MaxReadWriteSize": settled.max_read_write_size,
    })
}

fn smb2(response: &Response, time: Duration) -> Value {
    match response {
        Response::Error(refused) => json!({ "micros": micros(time), "Status": refused.status }),
        Response::Agreed(agreed) => json!({
            "micros": micros(time),
            "Status": 0,
            "Dialect": agreed.dialect.to_string(),
            "ServerGuid": agreed.server.to_string(),
            "Capabilities": agreed.capabilities.names().collect::<Vec<_>>(),
            "SecurityMode": agreed.security_mode,
            "MaxTransactSize": agreed.max_transact_size,
            "MaxReadSize": agreed.max_read_size,
            "MaxWriteSize": agreed.max_write_size,
            "Cipher": agreed.cipher.map(|cipher| cipher.to_string()),
        }),
    }
}
