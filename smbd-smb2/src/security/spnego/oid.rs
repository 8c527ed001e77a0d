//! Names of mechanisms.

/// SPNEGO itself: 1.3.6.1.5.5.2.
pub(super) const SPNEGO: &[u8] = &[0x2b, 6, 1, 5, 5, 2];

/// Kerberos: 1.2.840.113554.1.2.2.
pub const KERBEROS_OID: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x12, 1, 2, 2];

/// Kerberos as Windows 2000 wrote it, which Windows offers first to this day (MS-SPNG 3.1.5.2): 1.2.840.48018.1.2.2.
pub const KERBEROS_OID_MICROSOFT: &[u8] = &[0x2a, 0x86, 0x48, 0x82, 0xf7, 0x12, 1, 2, 2];
