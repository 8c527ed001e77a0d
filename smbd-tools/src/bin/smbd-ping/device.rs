//! What a device of this host offers, and what smbd uses of it.

use std::io::{self, Write};
use std::net::IpAddr;

use serde_json::{Value, json};
use smbd_tools::tool::{ADVICE_ON_DEVICE, complain};
use smbd_verbs::quirks::{self, Quirks};
use smbd_verbs::{DeviceAttributes, device_addresses, devices};

/// Prints it, or what went wrong; returns whether the device was found.
///
/// # Errors
/// Those of `out`.
pub(crate) fn run(name: &str, as_json: bool, out: &mut impl Write) -> io::Result<bool> {
    let found = find(name);
    match &found {
        Ok(device) if as_json => writeln!(out, "{:#}", object(device, quirks::of(device), &addresses(name)))?,
        Ok(device) => text(device, quirks::of(device), &addresses(name), out)?,
        Err(what) if as_json => {
            let error = json!({ "what": what, "advice": ADVICE_ON_DEVICE });
            writeln!(out, "{:#}", json!({ "device": name, "ok": false, "error": error }))?;
        }
        Err(what) => complain(&format!("smbd-ping: {name}: {what}"), Some(ADVICE_ON_DEVICE)),
    }
    out.flush()?;
    Ok(found.is_ok())
}

fn find(name: &str) -> Result<DeviceAttributes, String> {
    let all = devices().map_err(|error| error.to_string())?;
    let names: Vec<_> = all.iter().map(|device| device.name.clone()).collect();
    let none = || format!("no such RDMA device; this host has {}", names.join(", "));
    all.into_iter().find(|device| device.name == name).ok_or_else(none)
}

/// Where it can be listened at; the reason if that cannot be told.
fn addresses(name: &str) -> Result<Vec<IpAddr>, String> {
    let all = device_addresses().map_err(|error| error.to_string())?;
    Ok(all.into_iter().filter(|found| found.device == name).map(|found| found.address).collect())
}

/// Limits in the names of `ibv_query_device`.
fn limits(device: &DeviceAttributes) -> [(&'static str, u64); 9] {
    [
        ("max_qp_wr", device.max_qp_wr.into()),
        ("max_sge", device.max_sge.into()),
        ("max_sge_rd", device.max_sge_rd.into()),
        ("max_cqe", device.max_cqe.into()),
        ("max_mr_size", device.max_mr_size),
        ("max_qp_rd_atom", device.max_qp_rd_atom.into()),
        ("max_qp_init_rd_atom", device.max_qp_init_rd_atom.into()),
        ("max_mw", device.max_mw.into()),
        ("vendor_part_id", device.vendor_part_id.into()),
    ]
}

const fn registrations(device: &DeviceAttributes, row: &Quirks) -> &'static str {
    if row.uses_windows(device) { "memory windows of type 2" } else { "memory regions" }
}

fn object(device: &DeviceAttributes, row: &Quirks, addresses: &Result<Vec<IpAddr>, String>) -> Value {
    let limits: serde_json::Map<_, _> =
        limits(device).into_iter().map(|(name, value)| (name.into(), value.into())).collect();
    json!({
        "device": device.name,
        "ok": true,
        "vendor_id": device.vendor_id,
        "iwarp": device.transport_iwarp,
        "addresses": addresses.as_ref().ok(),
        "addresses_error": addresses.as_ref().err(),
        "limits": limits,
        "window_2a": device.window_2a,
        "window_2b": device.window_2b,
        "mem_mgt_extensions": device.mem_mgt_extensions,
        "quirks": row.name,
        "registrations": registrations(device, row),
        "send_with_invalidate": row.invalidates_at_peer(device),
        "read_depth_max": row.read_depth_max,
        "reads_in_order": row.reads_in_order,
    })
}

fn text(
    device: &DeviceAttributes,
    row: &Quirks,
    addresses: &Result<Vec<IpAddr>, String>,
    out: &mut impl Write,
) -> io::Result<()> {
    let yes = |is: bool| if is { "yes" } else { "no" };
    let transport = if device.transport_iwarp { "iWARP" } else { "InfiniBand or RoCE" };
    writeln!(out, "{}: {transport}, vendor {:#08x}", device.name, device.vendor_id)?;
    writeln!(out, "  addresses: {}", listed(addresses))?;
    writeln!(out, "  as the device says (ibv_query_device):")?;
    for (name, value) in limits(device) {
        writeln!(out, "    {name:<22}{value}")?;
    }
    for (name, is) in [
        ("MEM_WINDOW_TYPE_2A", device.window_2a),
        ("MEM_WINDOW_TYPE_2B", device.window_2b),
        ("MEM_MGT_EXTENSIONS", device.mem_mgt_extensions),
    ] {
        writeln!(out, "    {name:<22}{}", yes(is))?;
    }
    writeln!(out, "  as smbd uses it (row \"{}\" of its quirk table):", row.name)?;
    writeln!(out, "    {:<22}{}", "registrations", registrations(device, row))?;
    writeln!(out, "    {:<22}{}", "send with invalidate", yes(row.invalidates_at_peer(device)))?;
    writeln!(out, "    {:<22}{}", "RDMA Reads in order", yes(row.reads_in_order))?;
    writeln!(
        out,
        "    {:<22}{}",
        "RDMA Reads at once",
        device.max_qp_init_rd_atom.min(row.read_depth_max.into())
    )
}

fn listed(addresses: &Result<Vec<IpAddr>, String>) -> String {
    match addresses {
        Ok(none) if none.is_empty() => "none, so nothing can be connected through it".into(),
        Ok(some) => some.iter().map(IpAddr::to_string).collect::<Vec<_>>().join(", "),
        Err(why) => format!("unknown, {why}"),
    }
}

#[cfg(test)]
mod tests {
    use super::listed;

    #[test]
    fn a_device_without_an_address_is_told_from_one_whose_addresses_are_unknown() {
        let some = vec!["10.9.0.9".parse().expect("an address"), "fd09::9".parse().expect("an address")];
        assert_eq!(listed(&Ok(some)), "10.9.0.9, fd09::9");
        assert_eq!(listed(&Ok(Vec::new())), "none, so nothing can be connected through it");
        assert_eq!(listed(&Err("no connection manager".into())), "unknown, no connection manager");
    }
}
