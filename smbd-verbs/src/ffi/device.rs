//! RDMA devices, as librdmacm opened them.

use std::{
    ffi::CStr,
    fmt,
    mem::MaybeUninit,
    ptr::{self, NonNull},
    slice,
    sync::Mutex,
};

use super::{
    consts::IBV_LINK_LAYER_ETHERNET,
    error::{CallError, non_null, ok},
    extended, lock,
    sys::{
        ibv_ack_async_event, ibv_async_event, ibv_context, ibv_cq, ibv_create_cq, ibv_device_attr,
        ibv_device_cap_flags, ibv_get_async_event, ibv_get_device_name, ibv_transport_type,
        rdma_free_devices, rdma_get_devices,
    },
};

/// A device. librdmacm opened it, and it stays open as long as the process lives.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Device {
    context: NonNull<ibv_context>,
}

// SAFETY: calls of libibverbs on a context may be made by any thread, several at once, and the context is never closed.
unsafe impl Send for Device {}
// SAFETY: as above; nothing behind the pointer is written here.
unsafe impl Sync for Device {}

/// The type of link of an RDMA device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LinkType {
    /// InfiniBand.
    InfiniBand,
    /// RDMA over Converged Ethernet (RoCE).
    Roce,
    /// iWARP: RDMA over TCP (RFC 5040 to 5044).
    Iwarp,
}

impl fmt::Display for LinkType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InfiniBand => "InfiniBand",
            Self::Roce => "RoCE",
            Self::Iwarp => "iWARP",
        })
    }
}

/// The attributes of a device, as `ibv_query_device` returns them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceAttributes {
    /// Its name, such as `mlx5_0`.
    pub name: String,
    /// IEEE number of the vendor; 0xffffff for the software RoCE of Linux.
    pub vendor_id: u32,
    /// The vendor's number of the device.
    pub vendor_part_id: u32,
    /// Most work requests of one queue.
    pub max_qp_wr: u32,
    /// Most scatter/gather elements of one work request.
    pub max_sge: u32,
    /// Most scatter/gather elements of one RDMA Read.
    pub max_sge_rd: u32,
    /// Most entries of one completion queue.
    pub max_cqe: u32,
    /// Largest registration in bytes.
    pub max_mr_size: u64,
    /// Most RDMA Reads of the peer outstanding on one queue pair (IRD).
    pub max_qp_rd_atom: u32,
    /// Most own RDMA Reads outstanding on one queue pair (ORD).
    pub max_qp_init_rd_atom: u32,
    /// Most memory windows.
    pub max_mw: u32,
    /// Whether the device has memory windows of type 2A.
    pub window_2a: bool,
    /// Whether the device has memory windows of type 2B.
    pub window_2b: bool,
    /// Whether the device has send with invalidate (`IBV_DEVICE_MEM_MGT_EXTENSIONS`).
    pub mem_mgt_extensions: bool,
    /// Whether the transport is iWARP.
    pub transport_iwarp: bool,
}

/// Something that happened to a device or one of its queues on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AsyncEvent {
    /// `ibv_event_type`; newer libraries may have more than are named here.
    pub(crate) kind: u32,
}

/// `ibv_event_type` in its order.
const ASYNC_EVENTS: [&str; 20] = [
    "CQ_ERR",
    "QP_FATAL",
    "QP_REQ_ERR",
    "QP_ACCESS_ERR",
    "COMM_EST",
    "SQ_DRAINED",
    "PATH_MIG",
    "PATH_MIG_ERR",
    "DEVICE_FATAL",
    "PORT_ACTIVE",
    "PORT_ERR",
    "LID_CHANGE",
    "PKEY_CHANGE",
    "SM_CHANGE",
    "SRQ_ERR",
    "SRQ_LIMIT_REACHED",
    "QP_LAST_WQE_REACHED",
    "CLIENT_REREGISTER",
    "GID_CHANGE",
    "WQ_FATAL",
];

impl AsyncEvent {
    /// Its name in `ibv_event_type`.
    pub(crate) fn name(self) -> &'static str {
        usize::try_from(self.kind).ok().and_then(|kind| ASYNC_EVENTS.get(kind)).unwrap_or(&"unknown")
    }
}

/// Devices that are never given back, so that [`Device`] can be copied freely.
// Shared: locked when a device is opened.
static KEPT: Mutex<Vec<Device>> = Mutex::new(Vec::new());

/// The lists on which librdmacm gave them: it keeps a device open as long as somebody has it on one.
// Shared: locked when devices are listed.
static LISTS: Mutex<Vec<ForEver<*mut ibv_context>>> = Mutex::new(Vec::new());

/// Devices with a spacer (see [`Device::hold_spacer`]).
// Shared: locked when a device is opened.
static SPACED: Mutex<Vec<(Device, ForEver<ibv_cq>)>> = Mutex::new(Vec::new());

/// What a library allocated and is never given back. It is remembered: who looks for leaks then sees that it is none.
struct ForEver<T>(
    #[expect(dead_code, reason = "a place where it can be found is all that is wanted")] NonNull<T>,
);

// SAFETY: nothing is done with the pointer.
unsafe impl<T> Send for ForEver<T> {}

impl Device {
    /// One that is only a name.
    #[cfg(test)]
    pub(super) const fn none() -> Self {
        Self { context: NonNull::dangling() }
    }

    /// All devices of this machine.
    pub(crate) fn all() -> Result<Vec<Self>, CallError> {
        let mut count = 0;
        // SAFETY: it writes the count and returns an array of that many contexts, or null.
        let list = non_null("rdma_get_devices", unsafe { rdma_get_devices(&raw mut count) })?;
        // SAFETY: as above; the array lives until it is freed below.
        let contexts =
            unsafe { slice::from_raw_parts(list.as_ptr(), usize::try_from(count).unwrap_or_default()) };
        let devices: Vec<Self> =
            contexts.iter().filter_map(|&context| Some(Self { context: NonNull::new(context)? })).collect();
        let mut kept = lock(&KEPT);
        if devices.iter().all(|device| kept.contains(device)) {
            // SAFETY: it came from `rdma_get_devices` and is freed once. An earlier list keeps all of its devices.
            unsafe { rdma_free_devices(list.as_ptr()) };
        } else {
            lock(&LISTS).push(ForEver(list));
            let new: Vec<Self> = devices.iter().filter(|device| !kept.contains(device)).copied().collect();
            kept.extend(&new);
            drop(kept);
            new.into_iter().try_for_each(Self::make_events_nonblocking)?;
        }
        Ok(devices)
    }

    /// The device of `context`, kept from now on.
    ///
    /// # Safety
    /// librdmacm opened `context`, and something keeps it open during this call.
    pub(super) unsafe fn keep(context: NonNull<ibv_context>) -> Option<Self> {
        let device = Self { context };
        if lock(&KEPT).contains(&device) {
            return Some(device);
        }
        Self::all().ok()?.contains(&device).then_some(device)
    }

    pub(super) const fn context(self) -> NonNull<ibv_context> {
        self.context
    }

    /// Its name, such as `mlx5_0`.
    pub(crate) fn name(self) -> String {
        // SAFETY: an open context has a device, and a device has a name that ends with a zero.
        let name = unsafe { CStr::from_ptr(ibv_get_device_name((*self.context.as_ptr()).device)) };
        name.to_string_lossy().into_owned()
    }

    fn is_iwarp(self) -> bool {
        // SAFETY: an open context has a device, which nobody changes.
        let transport = unsafe { (*(*self.context.as_ptr()).device).transport_type };
        transport == ibv_transport_type::IBV_TRANSPORT_IWARP
    }

    /// What it can do.
    pub(crate) fn attributes(self) -> Result<DeviceAttributes, CallError> {
        // SAFETY: a kept device is open.
        let raw: ibv_device_attr = unsafe { extended::query_device(self.context) }?;
        let number = |raw| u32::try_from(raw).unwrap_or_default();
        let can = |flag: ibv_device_cap_flags| raw.device_cap_flags & flag.0 != 0;
        Ok(DeviceAttributes {
            name: self.name(),
            vendor_id: raw.vendor_id,
            vendor_part_id: raw.vendor_part_id,
            max_qp_wr: number(raw.max_qp_wr),
            max_sge: number(raw.max_sge),
            max_sge_rd: number(raw.max_sge_rd),
            max_cqe: number(raw.max_cqe),
            max_mr_size: raw.max_mr_size,
            max_qp_rd_atom: number(raw.max_qp_rd_atom),
            max_qp_init_rd_atom: number(raw.max_qp_init_rd_atom),
            max_mw: number(raw.max_mw),
            window_2a: can(ibv_device_cap_flags::IBV_DEVICE_MEM_WINDOW_TYPE_2A),
            window_2b: can(ibv_device_cap_flags::IBV_DEVICE_MEM_WINDOW_TYPE_2B),
            mem_mgt_extensions: can(ibv_device_cap_flags::IBV_DEVICE_MEM_MGT_EXTENSIONS),
            transport_iwarp: self.is_iwarp(),
        })
    }

    /// What port `port` (from 1 on) is connected to.
    pub(crate) fn link_type(self, port: u8) -> Result<LinkType, CallError> {
        if self.is_iwarp() {
            return Ok(LinkType::Iwarp);
        }
        // SAFETY: a kept device is open.
        let raw = unsafe { extended::query_port(self.context, port) }?;
        Ok(if raw.link_layer == IBV_LINK_LAYER_ETHERNET { LinkType::Roce } else { LinkType::InfiniBand })
    }

    /// Makes a completion queue of `cq_entries` and keeps it for ever, once for each device.
    ///
    /// The user-space provider of siw cannot map a queue object that begins at page 144 of its numbering, and fails
    /// every time once a process gets there. A large object made first steps over that page.
    pub(crate) fn hold_spacer(self, cq_entries: u32) -> Result<(), CallError> {
        let mut spaced = lock(&SPACED);
        if spaced.iter().any(|(device, _)| *device == self) {
            return Ok(());
        }
        let entries = i32::try_from(cq_entries).map_err(|_| CallError::new("ibv_create_cq", libc::EINVAL))?;
        // SAFETY: a kept device is open; the queue has no channel and no context of ours. It is never destroyed.
        let cq =
            unsafe { ibv_create_cq(self.context.as_ptr(), entries, ptr::null_mut(), ptr::null_mut(), 0) };
        spaced.push((self, ForEver(non_null("ibv_create_cq", cq)?)));
        Ok(())
    }

    fn make_events_nonblocking(self) -> Result<(), CallError> {
        // SAFETY: the context is open and so is this descriptor of it.
        let descriptor = unsafe { (*self.context.as_ptr()).async_fd };
        super::set_nonblocking(descriptor)
    }

    /// The next event of the device, acknowledged; `None` if there is none now.
    pub(crate) fn next_async_event(self) -> Result<Option<AsyncEvent>, CallError> {
        let mut event = MaybeUninit::<ibv_async_event>::uninit();
        // SAFETY: a kept device is open; the event is written if 0 is returned.
        let returned = unsafe { ibv_get_async_event(self.context.as_ptr(), event.as_mut_ptr()) };
        match ok("ibv_get_async_event", returned) {
            Err(error) if error.errno() == libc::EAGAIN => return Ok(None),
            result => result?,
        }
        // SAFETY: the event was written. Its kind is read as the number it is: the enum of the bindings may not have it.
        let kind = unsafe { (&raw const (*event.as_ptr()).event_type).cast::<u32>().read() };
        // SAFETY: it was got above and is acknowledged once. What it names is still there: destroying it waits for this.
        unsafe { ibv_ack_async_event(event.as_mut_ptr()) };
        Ok(Some(AsyncEvent { kind }))
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({})", self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::AsyncEvent;

    #[test]
    fn events_of_newer_libraries_have_a_name_too() {
        assert_eq!(AsyncEvent { kind: 8 }.name(), "DEVICE_FATAL");
        assert_eq!(AsyncEvent { kind: 20 }.name(), "unknown");
    }
}
