//! What the client does by itself: it comes to a share, and writes data by RDMA that are protected.

use smbd_smb2::security::Step;
use smbd_smb2::wire::{
    Body, BufferDescriptorV1, Channel, FileId, Header, NegotiateRequest, RdmaTransform, SessionSetupRequest,
    Target, Text, Token, TreeConnectRequest, WriteRequest, pack, write_element,
};

use super::Host;
use super::fresh;

impl Host {
    /// One step of the way to a share.
    pub(super) fn come(&mut self, step: u8) {
        match step {
            0 => {
                let setting = self.setting;
                let header = Header::request::<NegotiateRequest<'_>>(self.next_id());
                setting.negotiate(|request| {
                    let message = self.send(&header, request);
                    if self.at == 0 {
                        self.protect.hear(&message);
                        self.protect.negotiated(&self.last);
                    }
                });
            }
            1 => {
                for seed in 0..2 {
                    let Ok(Step::Continue(token)) = self.client.step(&self.token, &fresh(seed)) else {
                        return;
                    };
                    let request =
                        SessionSetupRequest { security_buffer: &token, ..SessionSetupRequest::default() };
                    let header = Header::request::<SessionSetupRequest<'_>>(self.next_id());
                    let message = self.send(&Header { session_id: self.session_id, ..header }, &request);
                    self.protect.hear(&message);
                    if seed == 0 {
                        self.protect.hear(&self.last);
                    }
                }
                // Its keys are there now.
                let _ = self.client.step(&self.token, &fresh(2));
                self.protect.established(&self.client, self.session_id);
            }
            _ => {
                let request =
                    TreeConnectRequest { path: Text::from("\\\\s\\data"), ..TreeConnectRequest::default() };
                let header = Header::request::<TreeConnectRequest<'_>>(self.next_id());
                self.send(&Header { session_id: self.session_id, ..header }, &request);
            }
        }
    }

    /// Sends a request as the client would: protected if it has keys, and nothing else is wanted. Returns it in plain text.
    fn send(&mut self, header: &Header, body: &impl Body) -> Vec<u8> {
        let mut message = Vec::new();
        write_element(&mut message, &Header { credits: 100, ..*header }, body).expect("short");
        self.links[self.at].next_id += 1;
        let plain = message.clone();
        self.protect.protect(&mut message, self.session_id, self.protect.seals);
        self.receive(&mut message);
        self.drive();
        plain
    }

    /// A WRITE by RDMA whose data are signed or encrypted, as they have to be; or one of their bits is another one.
    pub(super) fn write_transformed(&mut self, len: usize, is_changed: bool) {
        let descriptor = BufferDescriptorV1 { offset: 0, token: Token(5), length: len as u32 };
        let info = pack(&[descriptor]);
        let info =
            RdmaTransform { channel: Channel::RDMA_V1, channel_info: &info, ..RdmaTransform::default() };
        let Some((data, channel_info)) = self.protect.data(vec![7; len], &info) else { return };
        self.memory = data;
        if is_changed {
            self.memory.iter_mut().take(1).for_each(|byte| *byte ^= 1);
        }
        let request = WriteRequest {
            file_id: FileId { persistent: 1, volatile: 1 },
            remaining_bytes: len as u32,
            channel: Channel::RDMA_TRANSFORM,
            channel_info: &channel_info,
            ..WriteRequest::default()
        };
        let header = Header::request::<WriteRequest<'_>>(self.next_id());
        let target = Target::Sync { process_id: 0, tree_id: self.tree_id };
        self.send(&Header { session_id: self.session_id, target, ..header }, &request);
    }
}
