//! The name of NTLM in SPNEGO (MS-SPNG 4): 1.3.6.1.4.1.311.2.2.10.

/// All names, as DER has them.
pub(super) const ALL: &[&[u8]] = &[&[0x2b, 6, 1, 4, 1, 0x82, 0x37, 2, 2, 10]];
