//! TREE_CONNECT (2.2.9, 2.2.10).

use super::access::AccessMask;
use super::body::Body;
use super::error::WireError;
use super::field::Field;
use super::header;
use super::layout::layout;
use super::names::{flags, values};
use super::reader;
use super::structure::{message, role};
use super::text::Text;
use super::writer::{Empty, Writer};

flags! {
    /// Flags of a TREE_CONNECT Request (2.2.9), which 3.1.1 has.
    pub struct TreeConnectFlags(u16) {
        CLUSTER_RECONNECT = 0x0001 "CLUSTER_RECONNECT",
        REDIRECT_TO_OWNER = 0x0002 "REDIRECT_TO_OWNER",
        EXTENSION_PRESENT = 0x0004 "EXTENSION_PRESENT",
    }

    /// Properties of a share (2.2.10). How clients may cache is a number of two bits, 0x30.
    pub struct ShareFlags(u32) {
        DFS = 0x0000_0001 "DFS",
        DFS_ROOT = 0x0000_0002 "DFS_ROOT",
        AUTO_CACHING = 0x0000_0010 "AUTO_CACHING",
        VDO_CACHING = 0x0000_0020 "VDO_CACHING",
        RESTRICT_EXCLUSIVE_OPENS = 0x0000_0100 "RESTRICT_EXCLUSIVE_OPENS",
        FORCE_SHARED_DELETE = 0x0000_0200 "FORCE_SHARED_DELETE",
        ALLOW_NAMESPACE_CACHING = 0x0000_0400 "ALLOW_NAMESPACE_CACHING",
        ACCESS_BASED_DIRECTORY_ENUM = 0x0000_0800 "ACCESS_BASED_DIRECTORY_ENUM",
        FORCE_LEVELII_OPLOCK = 0x0000_1000 "FORCE_LEVELII_OPLOCK",
        ENABLE_HASH_V1 = 0x0000_2000 "ENABLE_HASH_V1",
        ENABLE_HASH_V2 = 0x0000_4000 "ENABLE_HASH_V2",
        ENCRYPT_DATA = 0x0000_8000 "ENCRYPT_DATA",
        IDENTITY_REMOTING = 0x0004_0000 "IDENTITY_REMOTING",
        COMPRESS_DATA = 0x0010_0000 "COMPRESS_DATA",
        ISOLATED_TRANSPORT = 0x0020_0000 "ISOLATED_TRANSPORT",
    }

    /// What a share can do (2.2.10).
    pub struct ShareCapabilities(u32) {
        DFS = 0x0000_0008 "DFS",
        CONTINUOUS_AVAILABILITY = 0x0000_0010 "CONTINUOUS_AVAILABILITY",
        SCALEOUT = 0x0000_0020 "SCALEOUT",
        CLUSTER = 0x0000_0040 "CLUSTER",
        ASYMMETRIC = 0x0000_0080 "ASYMMETRIC",
        REDIRECT_TO_OWNER = 0x0000_0100 "REDIRECT_TO_OWNER",
    }
}

values! {
    /// What a share is (2.2.10).
    pub struct ShareType(u8) {
        DISK = 0x01 "disk",
        PIPE = 0x02 "pipe",
        PRINT = 0x03 "print",
    }
}

layout! {
    /// Fields of a TREE_CONNECT Request (2.2.9), from the beginning of the SMB2 header.
    pub mod request: "TREE_CONNECT Request", "2.2.9", from header::LEN;
    STRUCTURE_SIZE: u16 = "StructureSize" at 0;
    FLAGS: TreeConnectFlags = "Flags/Reserved" at 2;
    PATH_OFFSET: u16 = "PathOffset" at 4;
    PATH_LENGTH: u16 = "PathLength" at 6;
}

layout! {
    /// Fields of the extension (2.2.9.1), from the beginning of the SMB2 header.
    pub mod extension: "TREE_CONNECT Request Extension", "2.2.9.1", from header::LEN;
    TREE_CONNECT_CONTEXT_OFFSET: u32 = "TreeConnectContextOffset" at 8;
    TREE_CONNECT_CONTEXT_COUNT: u16 = "TreeConnectContextCount" at 12;
    RESERVED: [u8; 10] = "Reserved" at 14;
}

const PATH: (&Field<u16>, &Field<u16>) = (&request::PATH_OFFSET, &request::PATH_LENGTH);

/// A TREE_CONNECT Request (2.2.9).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TreeConnectRequest<'a> {
    /// Flags. When the request is written, EXTENSION_PRESENT is that of [`Self::extension`].
    pub flags: TreeConnectFlags,
    /// The share: `\\server\share`.
    pub path: Text<'a>,
    /// What 3.1.1 may have in front of the path and behind it.
    pub extension: Option<TreeConnectExtension<'a>>,
}

/// The contexts of a TREE_CONNECT Request (2.2.9.1), as they came: nothing of 2.2.9.2 is read here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TreeConnectExtension<'a> {
    /// How many contexts there are, by the request.
    pub count: u16,
    /// The contexts, and what follows them up to the end of the element.
    pub contexts: &'a [u8],
}

impl<'a> TreeConnectRequest<'a> {
    /// StructureSize of the body.
    pub const STRUCTURE_SIZE: u16 = 9;

    /// Reads the body of an element, which begins with its SMB2 header. PathOffset counts from the header,
    /// TreeConnectContextOffset from the body.
    ///
    /// # Errors
    /// The fixed part or the extension is not complete, StructureSize is another, or the path or the contexts do not lie behind
    /// them and inside the element.
    pub fn parse(element: &'a [u8]) -> Result<Self, WireError> {
        request::LAYOUT.check(element)?;
        request::STRUCTURE_SIZE.expect(element, Self::STRUCTURE_SIZE)?;
        let flags = request::FLAGS.get(element)?;
        if !flags.contains(TreeConnectFlags::EXTENSION_PRESENT) {
            let path = reader::part(element, PATH, &request::LAYOUT)?;
            return Ok(Self { flags, path: path.into(), extension: None });
        }
        extension::LAYOUT.check(element)?;
        let path = reader::part(element, PATH, &extension::LAYOUT)?;
        let count = extension::TREE_CONNECT_CONTEXT_COUNT.get(element)?;
        let contexts = if count > 0 { contexts(element)? } else { &[] };
        Ok(Self { flags, path: path.into(), extension: Some(TreeConnectExtension { count, contexts }) })
    }
}

fn contexts(element: &[u8]) -> Result<&[u8], WireError> {
    let offset = &extension::TREE_CONNECT_CONTEXT_OFFSET;
    let start = u64::from(offset.get(element)?).saturating_add(header::LEN as u64);
    let first = extension::LAYOUT.end() as u64;
    if start < first {
        return Err(WireError::Inside { field: offset.place(), value: start, first });
    }
    reader::range(element, offset, start, (element.len() as u64).saturating_sub(start))
}

impl Body for TreeConnectRequest<'_> {
    fn put(&self, out: &mut Writer<'_>) -> Result<(), WireError> {
        let is_extended = self.extension.is_some();
        out.begin(if is_extended { &extension::LAYOUT } else { &request::LAYOUT });
        out.set(&request::STRUCTURE_SIZE, Self::STRUCTURE_SIZE)?;
        out.set(&request::FLAGS, self.flags.with(TreeConnectFlags::EXTENSION_PRESENT, is_extended))?;
        out.part(PATH, 1, Empty::Place, &self.path)?;
        if let Some(TreeConnectExtension { count, contexts }) = self.extension {
            out.align(8);
            let offset = out.len().saturating_sub(header::LEN);
            out.set_size(&extension::TREE_CONNECT_CONTEXT_OFFSET, offset)?;
            out.set(&extension::TREE_CONNECT_CONTEXT_COUNT, count)?;
            out.append(contexts);
        }
        out.fill(request::LAYOUT.end().saturating_add(1));
        Ok(())
    }
}

role!(TreeConnectRequest<'a>: TREE_CONNECT request);

message! {
    /// A TREE_CONNECT Response (2.2.10). The header has the new TreeId.
    pub struct TreeConnectResponse: TREE_CONNECT response;
    pub mod response: "TREE_CONNECT Response", "2.2.10", size 16, least 0;
    fields {
        /// What the share is.
        share_type: ShareType = SHARE_TYPE "ShareType" at 2;
        /// Its properties.
        share_flags: ShareFlags = SHARE_FLAGS "ShareFlags" at 4;
        /// What it can do.
        capabilities: ShareCapabilities = CAPABILITIES "Capabilities" at 8;
        /// The most that the user may do with it.
        maximal_access: AccessMask = MAXIMAL_ACCESS "MaximalAccess" at 12;
    }
    reserved {
        RESERVED: u8 = "Reserved" at 3;
    }
    parts {}
}
