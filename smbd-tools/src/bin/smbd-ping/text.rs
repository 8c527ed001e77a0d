//! The report as text.

use std::io::{self, Write};
use std::time::Duration;

use smbd_core::Negotiated;
use smbd_core::wire::NegotiateResponse;
use smbd_tools::smb2::Response;
use smbd_tools::tool;

use crate::ping::{Attempt, Report, Trouble};

/// Prints results on `out` and what went wrong on standard error.
///
/// # Errors
/// Those of `out`.
pub(crate) fn print(report: &Report, out: &mut impl Write) -> io::Result<()> {
    if let Some(trouble) = &report.trouble {
        complain(&report.target, trouble);
    }
    for (round, attempt) in report.connections.iter().enumerate() {
        connection(attempt, round == 0, out)?;
        if let Some(answer) = &attempt.smb2 {
            match answer {
                Ok((response, time)) => smb2(response, *time, round == 0, out)?,
                Err(trouble) => complain("SMB2 NEGOTIATE", trouble),
            }
        }
        if round == 0 {
            probes(&report.probes, out)?;
        }
    }
    let times = report.connections.iter().filter_map(|attempt| attempt.smb2.as_ref()?.as_ref().ok());
    summary("SMB2 NEGOTIATE", &times.map(|(_, time)| *time).collect::<Vec<_>>(), out)
}

fn complain(subject: &str, trouble: &Trouble) {
    tool::complain(&format!("smbd-ping: {subject}: {}", trouble.what), trouble.advice.as_deref());
}

fn connection(attempt: &Attempt, is_first: bool, out: &mut impl Write) -> io::Result<()> {
    let Attempt { address, local, device, link, .. } = attempt;
    let over = match (device, link) {
        (Some(device), Some(link)) => format!(" ({link}, {device})"),
        _ => String::new(),
    };
    match &attempt.outcome {
        Ok((settled, time)) => {
            let from = local.map_or_else(String::new, |local| format!(" from {local}"));
            writeln!(out, "{address}: connected{from}{over} in {}", show(*time))?;
            if is_first {
                attempt.received.iter().try_for_each(|response| received(response, out))?;
                settled_on(settled, out)?;
            }
        }
        Err(trouble) => {
            complain(&format!("{address}{over}"), trouble);
            attempt.received.iter().try_for_each(|response| received(response, out))?;
        }
    }
    Ok(())
}

fn received(response: &NegotiateResponse, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "  as received from the peer (Negotiate Response, 2.2.2):")?;
    let NegotiateResponse { min_version, max_version, negotiated_version, status, .. } = response;
    writeln!(
        out,
        "    {:<22}{min_version:#06x} to {max_version:#06x}, chosen {negotiated_version:#06x}",
        "versions"
    )?;
    writeln!(out, "    {:<22}{status}", "Status")?;
    let numbers = [
        ("CreditsRequested", u32::from(response.credits_requested)),
        ("CreditsGranted", u32::from(response.credits_granted)),
        ("PreferredSendSize", response.preferred_send_size),
        ("MaxReceiveSize", response.max_receive_size),
        ("MaxFragmentedSize", response.max_fragmented_size),
        ("MaxReadWriteSize", response.max_read_write_size),
    ];
    lines(&numbers, out)
}

fn settled_on(settled: &Negotiated, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "  as settled:")?;
    let numbers = [
        ("MaxSendSize", settled.max_send_size),
        ("MaxReceiveSize", settled.max_receive_size),
        ("MaxFragmentedSendSize", settled.max_fragmented_send_size),
        ("MaxFragmentedRecvSize", settled.max_fragmented_recv_size),
        ("MaxReadWriteSize", settled.max_read_write_size),
    ];
    lines(&numbers, out)
}

fn lines(numbers: &[(&str, u32)], out: &mut impl Write) -> io::Result<()> {
    numbers.iter().try_for_each(|(name, value)| writeln!(out, "    {name:<22}{value}"))
}

fn smb2(response: &Response, time: Duration, is_first: bool, out: &mut impl Write) -> io::Result<()> {
    let agreed = match response {
        Response::Agreed(agreed) => agreed,
        Response::Error(refused) => {
            let (status, time) = (refused.status, show(time));
            tool::complain(
                &format!("smbd-ping: SMB2 NEGOTIATE: refused with status 0x{status:08X} in {time}"),
                None,
            );
            return Ok(());
        }
    };
    writeln!(out, "  SMB2 NEGOTIATE answered in {}: dialect {}", show(time), agreed.dialect)?;
    if is_first {
        let capabilities: Vec<_> = agreed.capabilities.names().collect();
        writeln!(out, "    {:<22}{}", "ServerGuid", agreed.server)?;
        writeln!(out, "    {:<22}{}", "Capabilities", capabilities.join(" "))?;
        writeln!(out, "    {:<22}{}", "MaxTransactSize", agreed.max_transact_size)?;
        writeln!(out, "    {:<22}{}", "MaxReadSize", agreed.max_read_size)?;
        writeln!(out, "    {:<22}{}", "MaxWriteSize", agreed.max_write_size)?;
        if let Some(cipher) = agreed.cipher {
            writeln!(out, "    {:<22}{cipher}", "Cipher")?;
        }
    }
    Ok(())
}

fn probes(probes: &[Result<Duration, Trouble>], out: &mut impl Write) -> io::Result<()> {
    for (number, probe) in probes.iter().enumerate() {
        match probe {
            Ok(time) => writeln!(out, "  probe {}: answered in {}", number + 1, show(*time))?,
            Err(trouble) => complain(&format!("probe {}", number + 1), trouble),
        }
    }
    let answered: Vec<_> = probes.iter().filter_map(|probe| probe.as_ref().ok()).copied().collect();
    if !probes.is_empty() {
        writeln!(out, "  probes: sent {}, answered {}", probes.len(), answered.len())?;
    }
    summary("probes", &answered, out)
}

/// Least, mean and greatest of several times.
fn summary(what: &str, times: &[Duration], out: &mut impl Write) -> io::Result<()> {
    let (Some(least), Some(greatest), 2..) = (times.iter().min(), times.iter().max(), times.len()) else {
        return Ok(());
    };
    let mean = times.iter().sum::<Duration>() / u32::try_from(times.len()).unwrap_or(u32::MAX);
    writeln!(out, "  {what}: min {}, mean {}, max {}", show(*least), show(mean), show(*greatest))
}

fn show(time: Duration) -> String {
    format!("{:.3} ms", time.as_secs_f64() * 1e3)
}
