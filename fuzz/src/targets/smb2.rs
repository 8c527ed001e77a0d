//! Messages of SMB2.

use std::fmt::Debug;

use smbd_smb2::wire::{
    Body, Compressed, CompressedParts, ContextData, CreateContext, CreateContexts, DurableHandleReconnect,
    DurableHandleReconnectV2, DurableHandleRequest, DurableHandleRequestV2, DurableHandleResponse,
    DurableHandleResponseV2, Element, Header, LeaseRequest, LeaseResponse, Message,
    QueryMaximalAccessRequest, QueryMaximalAccessResponse, QueryOnDiskIdResponse, Request, Response,
    Smb1Negotiate, Transform, WireError, write_element,
};

/// Everything that can be read of a message lies inside of it, is bounded by its length, and is read again as the same from what is
/// built of it.
pub fn smb2(data: &[u8]) {
    match Message::parse(data) {
        Ok(Message::Smb2(elements)) => {
            let mut end = 0;
            for element in elements.flatten() {
                // Elements follow each other.
                assert_eq!(element.offset, end);
                end = element.range().end;
                assert_eq!(data.get(element.range()), Some(element.bytes));
                read_element(&element);
            }
            assert!(end <= data.len());
        }
        Ok(Message::Transform(transform)) => {
            let again = build(|out| transform.write(out)).expect("it came");
            assert_eq!(Transform::parse(&again), Ok(transform));
        }
        Ok(Message::Compressed(compressed)) => read_compressed(&compressed, data.len()),
        Ok(Message::Smb1Negotiate(negotiate)) => {
            let names: Vec<_> = negotiate.dialects().collect();
            let again = build(|out| Smb1Negotiate::write(out, &names)).expect("it came");
            assert!(Smb1Negotiate::parse(&again).is_ok_and(|again| again.dialects().eq(names)));
        }
        Ok(Message::Other(bytes)) => assert_eq!(bytes, data),
        Err(error) => assert!(error.to_string().len() < 300),
    }
}

fn build(write: impl FnOnce(&mut Vec<u8>) -> Result<(), WireError>) -> Result<Vec<u8>, WireError> {
    let mut out = vec![0xEE; 5];
    let written = write(&mut out);
    if written.is_err() {
        assert_eq!(out, [0xEE; 5], "a failure leaves nothing");
    }
    written.map(|()| out.split_off(5))
}

/// As a request and as a response, whichever it says it is.
fn read_element(element: &Element<'_>) {
    let Element { header, bytes, .. } = *element;
    // In a compound there may be padding behind it, and the last element says nothing of a next one.
    let header = Header { next_command: 0, ..header };
    let own = Header::parse(bytes).expect("read a moment ago");
    assert_eq!(Header { next_command: 0, ..own }, header);
    if let Ok(request) = Request::parse(bytes) {
        bounded(&format!("{request:?}"), bytes.len());
        let file_id = Request::file_id_field(bytes).expect("read a moment ago");
        assert_eq!(file_id.map(|field| field.get(bytes).expect("read a moment ago")), request.file_id());
        descriptors(&request, bytes.len());
        if let Request::Create(create) = &request {
            contexts(&create.contexts);
        }
        if let Some(again) = rebuilt(&header, &request) {
            assert_eq!(Header::parse(&again), Ok(header));
            assert_eq!(Request::parse(&again), Ok(request));
        }
    }
    if let Ok(response) = Response::parse(bytes) {
        bounded(&format!("{response:?}"), bytes.len());
        if let Response::Create(create) = &response {
            contexts(&create.contexts);
        }
        if let Some(again) = rebuilt(&header, &response) {
            assert_eq!(Header::parse(&again), Ok(header));
            assert_eq!(Response::parse(&again), Ok(response));
        }
    }
}

/// What is built of a body. Nothing of one with a broken context, or with parts in another order that are too long for it.
fn rebuilt(header: &Header, body: &impl Body) -> Option<Vec<u8>> {
    build(|out| write_element(out, header, body)).ok()
}

fn descriptors(request: &Request<'_>, len: usize) {
    let list = match request {
        Request::Read(read) => read.descriptors(),
        Request::Write(write) => write.descriptors(),
        _ => return,
    };
    if let Ok(list) = list {
        assert_eq!(list.iter().count(), list.len());
        assert!(list.len() <= len / 16 && list.get(list.len()).is_none());
    }
}

/// Each context as all types of its name.
fn contexts(contexts: &CreateContexts<'_>) {
    for context in contexts.iter().flatten() {
        typed::<LeaseRequest>(&context);
        typed::<LeaseResponse>(&context);
        typed::<DurableHandleRequest>(&context);
        typed::<DurableHandleReconnect>(&context);
        typed::<DurableHandleResponse>(&context);
        typed::<DurableHandleRequestV2>(&context);
        typed::<DurableHandleReconnectV2>(&context);
        typed::<DurableHandleResponseV2>(&context);
        typed::<QueryMaximalAccessRequest>(&context);
        typed::<QueryMaximalAccessResponse>(&context);
        typed::<QueryOnDiskIdResponse>(&context);
    }
}

fn typed<T: ContextData + PartialEq + Debug>(context: &CreateContext<'_>) {
    if context.name == T::NAME
        && let Ok(value) = T::parse(context.data)
    {
        let again = value.to_bytes();
        assert_eq!(again.len(), context.data.len());
        assert_eq!(T::parse(&again), Ok(value));
    }
}

fn read_compressed(compressed: &Compressed<'_>, len: usize) {
    match compressed.parts {
        CompressedParts::Unchained { plain, compressed, .. } => {
            assert_eq!(plain.len() + compressed.len() + 16, len);
        }
        CompressedParts::Chained(payloads) => {
            assert!(payloads.iter().count() <= len / 8);
            let total: usize = payloads.iter().flatten().map(|payload| payload.data.len()).sum();
            assert!(total <= len);
        }
    }
    if let Ok(again) = build(|out| compressed.write(out)) {
        assert_eq!(Compressed::parse(&again), Ok(*compressed));
    }
}

/// Some words for each byte, not more.
fn bounded(text: &str, len: usize) {
    assert!(text.len() < 4000 + 200 * len, "{} bytes for {len}", text.len());
}
