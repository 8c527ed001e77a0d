//! Messages of requests.

use smbd_core::BufferDescriptorV1;
use smbd_smb2::wire::header::field;
use smbd_smb2::wire::{
    AccessMask, Capabilities, Channel, CommandBody, CreateDisposition, CreateOptions, CreateRequest, Dialect,
    EchoRequest, Guid, HashAlgorithm, Header, ImpersonationLevel, NegotiateContext, NegotiateRequest,
    ReadRequest, SecurityMode, SessionId, SessionSecurityMode, SessionSetupFlags, SessionSetupRequest,
    ShareAccess, Text, TreeConnectRequest, WireError, WriteRequest, write_element,
};

use super::{Client, EMPTY_FILE, FILE, NO_SESSION, Opened, Wants};

/// The way of data that are in no message.
#[derive(Clone, Copy, Debug)]
pub struct By<'d> {
    /// RDMA_V1, or RDMA_V1_INVALIDATE.
    pub channel: Channel,
    /// The client's buffers, in order.
    pub descriptors: &'d [BufferDescriptorV1],
}

impl By<'_> {
    /// The descriptors as they are in a request.
    #[must_use]
    pub fn info(&self) -> Vec<u8> {
        let mut info = vec![0; self.descriptors.len().saturating_mul(BufferDescriptorV1::LEN)];
        for (descriptor, place) in self.descriptors.iter().zip(info.chunks_exact_mut(BufferDescriptorV1::LEN))
        {
            let written = descriptor.encode(place);
            debug_assert_eq!(written, Ok(BufferDescriptorV1::LEN), "there is room for it");
        }
        info
    }
}

/// Who offers other dialects is another client: all connections of one have the same (3.3.5.5.3), and those of other cases may be there
/// for longer than these.
fn client_guid(dialects: &[Dialect]) -> Guid {
    let mut guid = *b"smbd-conformance";
    for (bytes, dialect) in guid.chunks_exact_mut(2).zip(dialects) {
        for (byte, part) in bytes.iter_mut().zip(dialect.0.to_le_bytes()) {
            *byte ^= part;
        }
    }
    Guid(guid)
}

/// A message of requests that is being made.
#[derive(Debug)]
pub struct Requests<'c> {
    client: &'c mut Client,
    message: Vec<u8>,
    last_id: u64,
    last: usize,
    count: usize,
}

impl<'c> Requests<'c> {
    /// A message without requests.
    pub const fn new(client: &'c mut Client) -> Self {
        Self { client, message: Vec::new(), last_id: 0, last: 0, count: 0 }
    }

    /// An ECHO, which needs no session.
    ///
    /// # Errors
    /// None that a caller could bring about.
    pub fn echo(&mut self) -> Result<(), WireError> {
        let header = self.client.header::<EchoRequest>(0);
        // With the session that may not be there yet the server would look for one.
        self.add(&Header { session_id: SessionId::NONE, ..header }, &EchoRequest::default())
    }

    /// A WRITE to the file, or without one a WRITE of nobody, which is refused for want of a session.
    ///
    /// # Errors
    /// More than 4 GiB.
    pub fn write(&mut self, data: &[u8], offset: u64) -> Result<(), WireError> {
        let header = self.client.header::<WriteRequest<'_>>(data.len() as u64);
        let header = match self.client.file {
            Some(_) => header,
            None => Header { session_id: NO_SESSION, ..header },
        };
        let file_id = self.client.file.unwrap_or_default();
        self.add(&header, &WriteRequest { offset, file_id, data, ..WriteRequest::default() })
    }

    /// A READ of the file.
    ///
    /// # Errors
    /// None that a caller could bring about.
    pub fn read(&mut self, length: u32, offset: u64) -> Result<(), WireError> {
        let header = self.client.header::<ReadRequest<'_>>(length.into());
        let file_id = self.client.file.unwrap_or_default();
        self.add(&header, &ReadRequest { padding: 80, length, offset, file_id, ..ReadRequest::default() })
    }

    /// A WRITE of `length` bytes to the file, which the server reads from these buffers. 4095 of them fit into a request.
    ///
    /// # Errors
    /// More buffers.
    pub fn write_by(&mut self, by: &By<'_>, length: u32, offset: u64) -> Result<(), WireError> {
        let header = self.client.header::<WriteRequest<'_>>(length.into());
        let file_id = self.client.file.unwrap_or_default();
        let (remaining_bytes, channel_info) = (length, &*by.info());
        let channel = by.channel;
        self.add(
            &header,
            &WriteRequest {
                offset,
                file_id,
                channel,
                remaining_bytes,
                channel_info,
                ..WriteRequest::default()
            },
        )
    }

    /// A READ of `length` bytes of the file, which the server writes to these buffers. 4095 of them fit into a request.
    ///
    /// # Errors
    /// More buffers.
    pub fn read_by(&mut self, by: &By<'_>, length: u32, offset: u64) -> Result<(), WireError> {
        let header = self.client.header::<ReadRequest<'_>>(length.into());
        let file_id = self.client.file.unwrap_or_default();
        let (channel, channel_info) = (by.channel, &*by.info());
        let request = ReadRequest { padding: 80, length, offset, file_id, ..ReadRequest::default() };
        self.add(&header, &ReadRequest { channel, channel_info, ..request })
    }

    /// Any request, which pays for so many bytes of data.
    ///
    /// # Errors
    /// What does not fit into it.
    pub fn any<B: CommandBody>(&mut self, body: &B, bytes: u64) -> Result<(), WireError> {
        let header = self.client.header::<B>(bytes);
        self.add(&header, body)
    }

    /// How many requests the message has.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.count
    }

    /// Bytes of the message so far.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.message.len()
    }

    /// Whether there is no request in it.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.message.is_empty()
    }

    /// Zeros behind the last request, as clients have them that make all parts of a compound a multiple of 8.
    pub fn pad(&mut self, len: usize) {
        self.message.resize(self.message.len().max(len), 0);
    }

    /// The message, and the MessageId of its last request.
    #[must_use]
    pub fn finish(self) -> (Vec<u8>, u64) {
        (self.message, self.last_id)
    }

    /// A NEGOTIATE, which is what a connection begins with. A second one is against the rules (3.3.5.4).
    ///
    /// # Errors
    /// None that a caller could bring about.
    pub fn negotiate(&mut self) -> Result<(), WireError> {
        let header = self.client.header::<NegotiateRequest<'_>>(0);
        // NEGOTIATE charges nothing, and grants one credit whatever is asked for.
        let header = Header { credit_charge: 0, ..header };
        let usual = [Dialect::SMB_2_1, Dialect::SMB_3_0, Dialect::SMB_3_0_2, Dialect::SMB_3_1_1];
        let Wants { dialects, transforms, secured, channels, .. } = self.client.wants.clone();
        let (ciphers, algorithms) = match &secured {
            Some(secured) => (secured.ciphers.clone(), secured.signing.clone()),
            None => (Vec::new(), Vec::new()),
        };
        let dialects = if dialects.is_empty() { usual.to_vec() } else { dialects };
        let client_guid = client_guid(&dialects);
        let hash_algorithms = [HashAlgorithm::SHA_512];
        let mut contexts = vec![NegotiateContext::PreauthIntegrity {
            hash_algorithms: (&hash_algorithms).into(),
            salt: &[0x5a; 32],
        }];
        if secured.is_some() {
            contexts.push(NegotiateContext::Encryption((&ciphers[..]).into()));
            contexts.push(NegotiateContext::Signing((&algorithms[..]).into()));
        }
        if !transforms.is_empty() {
            contexts.push(NegotiateContext::RdmaTransform((&transforms[..]).into()));
        }
        if !dialects.contains(&Dialect::SMB_3_1_1) {
            contexts.clear();
        }
        self.add(
            &header,
            &NegotiateRequest {
                security_mode: SecurityMode::SIGNING_ENABLED,
                capabilities: Capabilities::LARGE_MTU.with(Capabilities::MULTI_CHANNEL, channels),
                client_guid,
                dialects: dialects.as_slice().into(),
                contexts: contexts.as_slice().into(),
            },
        )
    }

    pub(super) fn session_setup(&mut self, token: &[u8]) -> Result<(), WireError> {
        let header = self.client.header::<SessionSetupRequest<'_>>(0);
        let security_mode = SessionSecurityMode::SIGNING_ENABLED;
        let flags = SessionSetupFlags::NONE.with(SessionSetupFlags::BINDING, self.client.is_bound());
        self.add(
            &header,
            &SessionSetupRequest {
                flags,
                security_mode,
                security_buffer: token,
                ..SessionSetupRequest::default()
            },
        )
    }

    pub(super) fn tree_connect(&mut self) -> Result<(), WireError> {
        let header = self.client.header::<TreeConnectRequest<'_>>(0);
        let share = self.client.wants.share.clone().unwrap_or_default();
        self.add(&header, &TreeConnectRequest { path: Text::from(&*share), ..TreeConnectRequest::default() })
    }

    pub(super) fn create(&mut self) -> Result<(), WireError> {
        let header = self.client.header::<CreateRequest<'_>>(0);
        let (name, disposition) = match self.client.wants.file {
            Opened::Usual => (FILE, CreateDisposition::OPEN_IF),
            Opened::Emptied => (EMPTY_FILE, CreateDisposition::OVERWRITE_IF),
            Opened::Kept => (EMPTY_FILE, CreateDisposition::OPEN_IF),
        };
        let access = AccessMask::READ_DATA.with(AccessMask::WRITE_DATA, true);
        let share = ShareAccess::READ.with(ShareAccess::WRITE, true).with(ShareAccess::DELETE, true);
        self.add(
            &header,
            &CreateRequest {
                impersonation_level: ImpersonationLevel::IMPERSONATION,
                desired_access: access
                    .with(AccessMask::READ_ATTRIBUTES, true)
                    .with(AccessMask::SYNCHRONIZE, true),
                share_access: share,
                create_disposition: disposition,
                create_options: CreateOptions::NON_DIRECTORY_FILE,
                name: Text::from(name),
                ..CreateRequest::default()
            },
        )
    }

    fn add<M: CommandBody>(&mut self, header: &Header, body: &M) -> Result<(), WireError> {
        // Each request begins at a multiple of 8 (3.2.4.1.4).
        let begin = self.message.len().next_multiple_of(8);
        self.message.resize(begin, 0);
        write_element(&mut self.message, header, body)?;
        if begin > 0 {
            let next = u32::try_from(begin - self.last).unwrap_or(u32::MAX);
            field::NEXT_COMMAND.set(self.message.get_mut(self.last..).unwrap_or_default(), next)?;
        }
        (self.last, self.last_id) = (begin, header.message_id.0);
        self.count += 1;
        Ok(())
    }
}
