//! Data that go by RDMA signed or encrypted: what messages say of them, and what becomes of them on their way (MS-SMB2 2.2.43).

use smbd_smb2::wire::{
    Channel, Command, Flags, Header, RdmaTransform, RdmaTransformType, ReadRequest, ReadResponse,
    ReadResponseFlags, WriteRequest,
};

use smbd_testkit::Chance;
use smbd_testkit::{Breach, law};

/// What a message says of data that go by RDMA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stated {
    pub transform: RdmaTransformType,
    /// Filled up with zeros, as it is in an encrypted message.
    pub nonce: [u8; 16],
    pub has_nonce: bool,
}

/// A request by the channel.
#[derive(Clone, Copy, Debug)]
pub struct ByChannel {
    /// The transform that its data need.
    pub needed: Option<RdmaTransformType>,
    pub stated: Option<Stated>,
}

fn stated(structure: &[u8]) -> Result<Stated, Breach> {
    let structure = RdmaTransform::parse(structure).map_err(|error| error.to_string())?;
    let crypto = structure.transforms.iter().next().and_then(Result::ok);
    let Some(crypto) = crypto else { return Err("protection: a structure without a transform".into()) };
    let mut nonce = [0; 16];
    for (to, from) in nonce.iter_mut().zip(crypto.nonce) {
        *to = *from;
    }
    Ok(Stated { transform: crypto.transform_type, nonce, has_nonce: !crypto.nonce.is_empty() })
}

/// The transform that data need which go with a message: that by which it is protected.
fn needed(header: &Header, is_sealed: bool) -> Option<RdmaTransformType> {
    if is_sealed {
        Some(RdmaTransformType::ENCRYPTION)
    } else if header.flags.contains(Flags::SIGNED) {
        Some(RdmaTransformType::SIGNING)
    } else {
        None
    }
}

/// What a request by the channel says of its data, and whether that is as its message is protected; nothing of another request.
pub fn of_request(header: &Header, element: &[u8], is_sealed: bool) -> Result<Option<ByChannel>, Breach> {
    let needed = needed(header, is_sealed);
    let (channel, info) = match header.command {
        Command::READ => match ReadRequest::parse(element) {
            Ok(request) => (request.channel, None),
            Err(_) => return Ok(None),
        },
        Command::WRITE => match WriteRequest::parse(element) {
            Ok(request) => (request.channel, Some(request.channel_info)),
            Err(_) => return Ok(None),
        },
        _ => return Ok(None),
    };
    if channel == Channel::NONE {
        return Ok(None);
    }
    let stated = match info.filter(|_| channel == Channel::RDMA_TRANSFORM) {
        Some(info) => Some(stated(info)?),
        None => None,
    };
    let is_right = info.is_none() || stated.map(|stated| stated.transform) == needed;
    law!(
        "protection",
        is_right,
        "{} {} needs {needed:?} and has {stated:?}",
        header.command,
        header.message_id
    );
    Ok(Some(ByChannel { needed, stated }))
}

/// What the answer to a READ by the channel says of its data, which is as it is protected itself; nothing of another answer.
pub fn of_answer(header: &Header, element: &[u8], is_sealed: bool) -> Result<Option<Stated>, Breach> {
    if header.command != Command::READ {
        return Ok(None);
    }
    let Ok(answer) = ReadResponse::parse(element) else { return Ok(None) };
    if answer.data_remaining == 0 {
        return Ok(None);
    }
    let stated = match answer.flags.contains(ReadResponseFlags::RDMA_TRANSFORM) {
        true => Some(stated(answer.data)?),
        false => None,
    };
    let (id, needed) = (header.message_id, needed(header, is_sealed));
    let is_right = stated.map(|stated| stated.transform) == needed;
    law!("protection", is_right, "the answer to READ {id} needs {needed:?} and has {stated:?}");
    Ok(stated)
}

/// Changes a bit of data on their way by RDMA, of one transfer of so many. Whether it has.
pub fn tamper(chance: &mut Chance, one_in: Option<usize>, data: &mut [u8]) -> bool {
    let Some(one_in) = one_in.filter(|_| !data.is_empty()) else { return false };
    if !chance.one_in(one_in) {
        return false;
    }
    let at = chance.below(data.len());
    data[at] ^= 1 << chance.below(8);
    true
}
