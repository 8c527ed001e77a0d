//! Data of READs and WRITEs, in messages and by RDMA.

use smbd_smb2::wire::*;

use super::super::memory::Memory;
use super::{Answer, Server};

impl Server {
    pub(super) fn read(
        &mut self,
        header: Header,
        read: &ReadRequest<'_>,
        signed: bool,
        sealed: bool,
        memory: &mut Memory,
    ) -> Answer {
        self.check_charge(&header, read.length as usize);
        let start = (read.offset as usize).min(self.file.len());
        let end = (start + read.length as usize).min(self.file.len());
        let data = self.file[start..end].to_vec();
        if data.is_empty() && read.length > 0 {
            let header = Header { status: NtStatus::END_OF_FILE, ..header };
            return self.finish(header, &ErrorResponse::default(), signed, sealed);
        }
        if read.channel == Channel::NONE {
            return self.finish(header, &ReadResponse { data: &data, ..Default::default() }, signed, sealed);
        }
        let descriptors: Vec<_> = read.descriptors().unwrap().iter().collect();
        let (sent, structure) = self.transformed(&data, signed, sealed);
        memory.write(&descriptors, &sent);
        let flags = ReadResponseFlags::NONE.with(ReadResponseFlags::RDMA_TRANSFORM, !structure.is_empty());
        let body = ReadResponse { data_remaining: data.len() as u32, data: &structure, flags };
        self.finish(header, &body, signed, sealed)
    }

    pub(super) fn has(&self, id: RdmaTransformId) -> bool {
        self.setup.transforms.as_ref().is_some_and(|ids| ids.contains(&id))
    }

    /// The data of a READ as they go by RDMA, and what is said of them.
    pub(super) fn transformed(&mut self, data: &[u8], signed: bool, sealed: bool) -> (Vec<u8>, Vec<u8>) {
        let (encrypts, signs) = (
            sealed && self.has(RdmaTransformId::ENCRYPTION),
            signed && !sealed && self.has(RdmaTransformId::SIGNING),
        );
        assert!(self.is_lenient || encrypts == sealed, "a channel in an encrypted session");
        assert!(self.is_lenient || signs == signed, "a channel in a signed session");
        let mut sent = data.to_vec();
        let Some(keys) = self.keys.as_mut().filter(|_| encrypts || signs) else { return (sent, Vec::new()) };
        let (kind, signature) = if encrypts {
            let (sealer, _) = keys.encryption.as_mut().unwrap();
            (RdmaTransformType::ENCRYPTION, sealer.seal_rdma(&mut [&mut sent]).unwrap())
        } else {
            (RdmaTransformType::SIGNING, keys.signer.sign_rdma([&sent[..]]).unwrap())
        };
        if let Some(change) = &mut self.before_rdma {
            change(&mut sent);
        }
        let transforms = [signature.crypto(kind)];
        let mut structure = Vec::new();
        let body = RdmaTransform { transforms: Records::from(&transforms), ..RdmaTransform::default() };
        body.write(&mut structure).unwrap();
        (sent, structure)
    }

    /// The data of a WRITE, once they are decrypted or verified.
    pub(super) fn transfer(
        &mut self,
        write: &WriteRequest<'_>,
        signed: bool,
        sealed: bool,
        memory: &Memory,
    ) -> Vec<u8> {
        if write.channel != Channel::RDMA_TRANSFORM {
            assert!(!signed && !sealed, "a channel in a protected session");
            return memory.read(&write.descriptors().unwrap().iter().collect::<Vec<_>>());
        }
        let structure = RdmaTransform::parse(write.channel_info).unwrap();
        let crypto = structure.transforms.iter().next().unwrap().unwrap();
        let behind = (rdma_transform::LEN + crypto.len()).next_multiple_of(8);
        let place = rdma_transform::field::RDMA_DESCRIPTOR_OFFSET.get(write.channel_info).unwrap();
        assert_eq!((usize::from(place), structure.transforms.count()), (behind, 1));
        let mut data = memory.read(&structure.descriptors().unwrap().iter().collect::<Vec<_>>());
        let keys = self.keys.as_ref().unwrap();
        if sealed {
            assert_eq!(crypto.transform_type, RdmaTransformType::ENCRYPTION);
            let (_, opener) = keys.encryption.as_ref().unwrap();
            opener
                .open_rdma(crypto.nonce, crypto.signature, &mut [&mut data])
                .expect("data as they were encrypted");
        } else {
            assert_eq!((crypto.transform_type, signed), (RdmaTransformType::SIGNING, true));
            keys.verifier
                .verify_rdma(crypto.nonce, crypto.signature, [&data[..]])
                .expect("data as they were signed");
        }
        self.nonces.push(crypto.nonce.to_vec());
        data
    }
}
