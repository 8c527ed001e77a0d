//! The report for a reader.

use std::time::Duration;

use smbd_core::Negotiated;
use smbd_core::wire::NegotiateResponse;
use smbd_tools::smb2::Response;

use crate::ping::{Attempt, Report, Trouble};

/// Prints results on standard output and what went wrong on standard error.
pub(crate) fn print(report: &Report) {
    if let Some(trouble) = &report.trouble {
        complain(&report.target, trouble);
    }
    for (round, attempt) in report.connections.iter().enumerate() {
        connection(attempt, round == 0);
        if let Some(answer) = &attempt.smb2 {
            match answer {
                Ok((response, time)) => smb2(response, *time, round == 0),
                Err(trouble) => complain("SMB2 NEGOTIATE", trouble),
            }
        }
        if round == 0 {
            probes(&report.probes);
        }
    }
    let times = report.connections.iter().filter_map(|attempt| attempt.smb2.as_ref()?.as_ref().ok());
    summary("SMB2 NEGOTIATE", &times.map(|(_, time)| *time).collect::<Vec<_>>());
}

fn complain(subject: &str, trouble: &Trouble) {
    eprintln!("smbd-ping: {subject}: {}", trouble.what);
    if let Some(advice) = &trouble.advice {
        eprintln!("  check: {advice}");
    }
}

fn connection(attempt: &Attempt, is_first: bool) {
    let Attempt { address, local, device, link, .. } = attempt;
    let over = match (device, link) {
        (Some(device), Some(link)) => format!(" ({link}, {device})"),
        _ => String::new(),
    };
    match &attempt.outcome {
        Ok((settled, time)) => {
            let from = local.map_or_else(String::new, |local| format!(" from {local}"));
            println!("{address}: connected{from}{over} in {}", show(*time));
            if is_first {
                attempt.received.iter().for_each(received);
                settled_on(settled);
            }
        }
        Err(trouble) => {
            complain(&format!("{address}{over}"), trouble);
            attempt.received.iter().for_each(received);
        }
    }
}

fn received(response: &NegotiateResponse) {
    println!("  as received from the peer (Negotiate Response, 2.2.2):");
    let NegotiateResponse { min_version, max_version, negotiated_version, status, .. } = response;
    println!(
        "    {:<22}{min_version:#06x} to {max_version:#06x}, chosen {negotiated_version:#06x}",
        "versions"
    );
    println!("    {:<22}{status}", "Status");
    let numbers = [
        ("CreditsRequested", u32::from(response.credits_requested)),
        ("CreditsGranted", u32::from(response.credits_granted)),
        ("PreferredSendSize", response.preferred_send_size),
        ("MaxReceiveSize", response.max_receive_size),
        ("MaxFragmentedSize", response.max_fragmented_size),
        ("MaxReadWriteSize", response.max_read_write_size),
    ];
    lines(&numbers);
}

fn settled_on(settled: &Negotiated) {
    println!("  as settled:");
    lines(&[
        ("MaxSendSize", settled.max_send_size),
        ("MaxReceiveSize", settled.max_receive_size),
        ("MaxFragmentedSendSize", settled.max_fragmented_send_size),
        ("MaxFragmentedRecvSize", settled.max_fragmented_recv_size),
        ("MaxReadWriteSize", settled.max_read_write_size),
    ]);
}

fn lines(numbers: &[(&str, u32)]) {
    for (name, value) in numbers {
        println!("    {name:<22}{value}");
    }
}

fn smb2(response: &Response, time: Duration, is_first: bool) {
    match response {
        Response::Error(refused) => {
            eprintln!(
                "smbd-ping: SMB2 NEGOTIATE: refused with status 0x{:08X} in {}",
                refused.status,
                show(time)
            );
        }
        Response::Agreed(agreed) => {
            println!("  SMB2 NEGOTIATE answered in {}: dialect {}", show(time), agreed.dialect);
            if is_first {
                let capabilities: Vec<_> = agreed.capabilities.names().collect();
                println!("    {:<22}{}", "ServerGuid", agreed.server);
                println!("    {:<22}{}", "Capabilities", capabilities.join(" "));
                println!("    {:<22}{}", "MaxTransactSize", agreed.max_transact_size);
                println!("    {:<22}{}", "MaxReadSize", agreed.max_read_size);
                println!("    {:<22}{}", "MaxWriteSize", agreed.max_write_size);
                if let Some(cipher) = agreed.cipher {
                    println!("    {:<22}{cipher}", "Cipher");
                }
            }
        }
    }
}

fn probes(probes: &[Result<Duration, Trouble>]) {
    for (number, probe) in probes.iter().enumerate() {
        match probe {
            Ok(time) => println!("  probe {}: answered in {}", number + 1, show(*time)),
            Err(trouble) => complain(&format!("probe {}", number + 1), trouble),
        }
    }
    let answered: Vec<_> = probes.iter().filter_map(|probe| probe.as_ref().ok()).copied().collect();
    if !probes.is_empty() {
        println!("  probes: sent {}, answered {}", probes.len(), answered.len());
    }
    summary("probes", &answered);
}

/// Least, mean and greatest of several times.
fn summary(what: &str, times: &[Duration]) {
    if let (Some(least), Some(greatest), 2..) = (times.iter().min(), times.iter().max(), times.len()) {
        let mean = times.iter().sum::<Duration>() / u32::try_from(times.len()).unwrap_or(u32::MAX);
        println!("  {what}: min {}, mean {}, max {}", show(*least), show(mean), show(*greatest));
    }
}

fn show(time: Duration) -> String {
    format!("{:.3} ms", time.as_secs_f64() * 1e3)
}
