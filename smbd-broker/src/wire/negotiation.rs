use smbd_smb2::wire::Guid;

use super::error::WireError;
use super::reader::{Reader, Writer};

/// The most algorithms of a kind.
const ALGORITHMS_MAX: usize = 8;
/// The longest blob in bytes.
const BLOB_MAX: usize = 4096;

/// What a broker answers to NEGOTIATE (MS-SMB2 2.2.4), with the highest dialect that is in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Negotiation {
    /// ServerGuid.
    pub server_guid: Guid,
    /// SecurityMode.
    pub security_mode: u16,
    /// The highest dialect: 0x0300, 0x0302 or 0x0311.
    pub dialect_max: u16,
    /// Capabilities. Of those that a client has to have as well, the common ones are answered.
    pub capabilities: u32,
    /// MaxTransactSize, in bytes.
    pub max_transact_size: u32,
    /// MaxReadSize, in bytes.
    pub max_read_size: u32,
    /// MaxWriteSize, in bytes.
    pub max_write_size: u32,
    /// Ciphers (2.2.3.1.2), the preferred one first.
    pub ciphers: Vec<u16>,
    /// Signing algorithms (2.2.3.1.7), the preferred one first.
    pub signing: Vec<u16>,
    /// RDMA transforms (2.2.3.1.6).
    pub transforms: Vec<u16>,
    /// SecurityBuffer: a GSS token.
    pub blob: Vec<u8>,
}

impl Negotiation {
    pub(super) fn parse(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let server_guid = Guid(reader.array("ServerGuid")?);
        let security_mode = reader.u16("SecurityMode")?;
        let dialect_max = reader.u16("DialectMax")?;
        let is_valid = matches!(dialect_max, 0x0300 | 0x0302 | 0x0311);
        reader.check("DialectMax", dialect_max.into(), is_valid, "it is 0x0300, 0x0302 or 0x0311")?;
        let capabilities = reader.u32("Capabilities")?;
        let max_transact_size = reader.u32("MaxTransactSize")?;
        let max_read_size = reader.u32("MaxReadSize")?;
        let max_write_size = reader.u32("MaxWriteSize")?;
        let ciphers = algorithms(reader, "Ciphers")?;
        let signing = algorithms(reader, "SigningAlgorithms")?;
        let transforms = algorithms(reader, "RDMATransforms")?;
        let len = reader.u16("SecurityBuffer")?;
        reader.check("SecurityBuffer", len.into(), usize::from(len) <= BLOB_MAX, "at most 4096 bytes")?;
        let blob = reader.bytes("SecurityBuffer", len.into())?.to_vec();
        Ok(Self {
            server_guid,
            security_mode,
            dialect_max,
            capabilities,
            max_transact_size,
            max_read_size,
            max_write_size,
            ciphers,
            signing,
            transforms,
            blob,
        })
    }

    pub(super) fn write(&self, to: &mut Writer<'_>) {
        to.bytes(&self.server_guid.0);
        to.u16(self.security_mode);
        to.u16(self.dialect_max);
        to.u32(self.capabilities);
        to.u32(self.max_transact_size);
        to.u32(self.max_read_size);
        to.u32(self.max_write_size);
        for algorithms in [&self.ciphers, &self.signing, &self.transforms] {
            to.u16(u16::try_from(algorithms.len()).unwrap_or(u16::MAX));
            for algorithm in algorithms {
                to.u16(*algorithm);
            }
        }
        to.u16(u16::try_from(self.blob.len()).unwrap_or(u16::MAX));
        to.bytes(&self.blob);
    }
}

fn algorithms(reader: &mut Reader<'_>, field: &'static str) -> Result<Vec<u16>, WireError> {
    let count = reader.u16(field)?;
    reader.check(field, count.into(), usize::from(count) <= ALGORITHMS_MAX, "there are at most 8")?;
    (0..count).map(|_| reader.u16(field)).collect()
}
