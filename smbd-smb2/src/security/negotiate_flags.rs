//! NegotiateFlags (MS-NLMP 2.2.2.5).

use crate::wire::names::flags;

flags! {
    /// What both sides of NTLM can do (MS-NLMP 2.2.2.5).
    pub struct NegotiateFlags(u32) {
        UNICODE = 0x0000_0001 "NTLMSSP_NEGOTIATE_UNICODE",
        OEM = 0x0000_0002 "NTLM_NEGOTIATE_OEM",
        REQUEST_TARGET = 0x0000_0004 "NTLMSSP_REQUEST_TARGET",
        SIGN = 0x0000_0010 "NTLMSSP_NEGOTIATE_SIGN",
        SEAL = 0x0000_0020 "NTLMSSP_NEGOTIATE_SEAL",
        DATAGRAM = 0x0000_0040 "NTLMSSP_NEGOTIATE_DATAGRAM",
        LM_KEY = 0x0000_0080 "NTLMSSP_NEGOTIATE_LM_KEY",
        NTLM = 0x0000_0200 "NTLMSSP_NEGOTIATE_NTLM",
        ANONYMOUS = 0x0000_0800 "anonymous",
        OEM_DOMAIN_SUPPLIED = 0x0000_1000 "NTLMSSP_NEGOTIATE_OEM_DOMAIN_SUPPLIED",
        OEM_WORKSTATION_SUPPLIED = 0x0000_2000 "NTLMSSP_NEGOTIATE_OEM_WORKSTATION_SUPPLIED",
        ALWAYS_SIGN = 0x0000_8000 "NTLMSSP_NEGOTIATE_ALWAYS_SIGN",
        TARGET_TYPE_DOMAIN = 0x0001_0000 "NTLMSSP_TARGET_TYPE_DOMAIN",
        TARGET_TYPE_SERVER = 0x0002_0000 "NTLMSSP_TARGET_TYPE_SERVER",
        EXTENDED_SESSIONSECURITY = 0x0008_0000 "NTLMSSP_NEGOTIATE_EXTENDED_SESSIONSECURITY",
        IDENTIFY = 0x0010_0000 "NTLMSSP_NEGOTIATE_IDENTIFY",
        REQUEST_NON_NT_SESSION_KEY = 0x0040_0000 "NTLMSSP_REQUEST_NON_NT_SESSION_KEY",
        TARGET_INFO = 0x0080_0000 "NTLMSSP_NEGOTIATE_TARGET_INFO",
        VERSION = 0x0200_0000 "NTLMSSP_NEGOTIATE_VERSION",
        KEY_128 = 0x2000_0000 "NTLMSSP_NEGOTIATE_128",
        KEY_EXCH = 0x4000_0000 "NTLMSSP_NEGOTIATE_KEY_EXCH",
        KEY_56 = 0x8000_0000 "NTLMSSP_NEGOTIATE_56",
    }
}

impl NegotiateFlags {
    /// Those that both have.
    pub(in crate::security) const fn both(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Those of `needed` that are not set; `None` if all are.
    pub(in crate::security) const fn missing(self, needed: Self) -> Option<Self> {
        match needed.0 & !self.0 {
            0 => None,
            missing => Some(Self(missing)),
        }
    }

    /// All of them.
    pub(in crate::security) const fn of(flags: &[Self]) -> Self {
        let mut all = Self::NONE;
        let mut rest = flags;
        while let [first, behind @ ..] = rest {
            all = Self(all.0 | first.0);
            rest = behind;
        }
        all
    }

    /// Whether a key is exchanged (MS-NLMP 3.1.5.1.2).
    pub(in crate::security) const fn exchanges_key(self) -> bool {
        self.contains(Self::KEY_EXCH) && (self.contains(Self::SIGN) || self.contains(Self::SEAL))
    }
}
