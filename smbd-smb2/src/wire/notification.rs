//! SERVER_TO_CLIENT_NOTIFICATION (2.2.44): what a server tells unasked.

use super::body::Body;
use super::error::WireError;
use super::header;
use super::layout::layout;
use super::names::values;
use super::structure::role;
use super::writer::Writer;

values! {
    /// What is told (2.2.44.1).
    pub struct NotificationType(u32) {
        SESSION_CLOSED = 0x0000_0000 "SmbNotifySessionClosed",
    }
}

layout! {
    /// Fields of a notification (2.2.44.1), from the beginning of the SMB2 header.
    pub mod field: "Server to Client Notification", "2.2.44.1", from header::LEN;
    STRUCTURE_SIZE: u16 = "StructureSize" at 0;
    RESERVED: u16 = "Reserved" at 2;
    NOTIFICATION_TYPE: NotificationType = "NotificationType" at 4;
}

/// A notification (2.2.44.1). StructureSize is said to be that of the structure, whose length varies; 4.11 has 0x12 for 12 bytes. It
/// is not checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerToClientNotification<'a> {
    /// What is told.
    pub notification_type: NotificationType,
    /// The rest of it, up to the end of the element.
    pub notification: &'a [u8],
}

impl<'a> ServerToClientNotification<'a> {
    /// Reads the body of an element, which begins with its SMB2 header.
    ///
    /// # Errors
    /// The fixed part is not complete.
    pub fn parse(element: &'a [u8]) -> Result<Self, WireError> {
        field::LAYOUT.check(element)?;
        let notification = element.get(field::LAYOUT.end()..).unwrap_or_default();
        Ok(Self { notification_type: field::NOTIFICATION_TYPE.get(element)?, notification })
    }
}

impl Body for ServerToClientNotification<'_> {
    fn put(&self, out: &mut Writer<'_>) -> Result<(), WireError> {
        out.begin(&field::LAYOUT);
        out.set(&field::NOTIFICATION_TYPE, self.notification_type)?;
        out.append(self.notification);
        out.set_size(&field::STRUCTURE_SIZE, out.len().saturating_sub(header::LEN))
    }
}

role!(ServerToClientNotification<'a>: SERVER_TO_CLIENT_NOTIFICATION response);
