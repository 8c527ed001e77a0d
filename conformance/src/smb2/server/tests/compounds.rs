//! Several requests in one message.

use super::*;

/// The answers in a message.
fn elements(served: &[Served]) -> Vec<(Header, Vec<u8>)> {
    let [Served::Answer(message)] = served else { panic!("{served:?}") };
    Elements::new(message)
        .map(|element| element.map(|one| (one.header, one.bytes.to_vec())).unwrap())
        .collect()
}

fn create<'a>(name: &'a str) -> CreateRequest<'a> {
    let desired_access = AccessMask::GENERIC_ALL;
    CreateRequest {
        name: name.into(),
        create_disposition: CreateDisposition::OPEN,
        desired_access,
        ..CreateRequest::default()
    }
}

const ALL: QueryInfoRequest<'static> = QueryInfoRequest {
    info_type: InfoType::FILE,
    info_class: info::class::FILE_ALL,
    output_buffer_length: 1000,
    additional_information: AdditionalInformation::NONE,
    flags: QueryInfoFlags::NONE,
    file_id: FileId::RELATED,
    input: &[],
};
const CLOSE: CloseRequest = CloseRequest { flags: CloseFlags::NONE, file_id: FileId::RELATED };

fn stat(client: &mut Client, name: &str) -> Vec<Served> {
    let headers = (
        client.next::<CreateRequest<'_>>(),
        client.next::<QueryInfoRequest<'_>>(),
        client.next::<CloseRequest>(),
    );
    let mut message = Vec::new();
    let mut compound = Compound::new(&mut message);
    compound.add(&headers.0, &create(name)).unwrap();
    compound.add(&headers.1.related(), &ALL).unwrap();
    compound.add(&headers.2.related(), &CLOSE).unwrap();
    client.server.take(&message).unwrap()
}

#[test]
fn related_requests_are_about_the_file_of_the_first_and_answered_together() {
    let mut client = Client::mounted();
    let served = stat(&mut client, "hello");
    let answers = elements(&served);
    assert_eq!(answers.len(), 3);
    for (number, (header, _)) in answers.iter().enumerate() {
        assert_eq!(header.status, NtStatus::SUCCESS);
        assert_eq!(header.is_related(), number > 0);
        assert_eq!((header.session_id, header.target), (client.header.session_id, client.header.target));
    }
    assert_eq!(QueryInfoResponse::parse(&answers[1].1).unwrap().output[48..56], 12_u64.to_le_bytes());
    assert_eq!(client.server.opens(), 0);
}

#[test]
fn what_follows_a_failure_fails_with_the_same_status() {
    let mut client = Client::mounted();
    let served = stat(&mut client, "nothing");
    let statuses: Vec<_> = elements(&served).into_iter().map(|(header, _)| header.status).collect();
    assert_eq!(statuses, [NtStatus::OBJECT_NAME_NOT_FOUND; 3]);
}

#[test]
fn a_first_request_that_is_related_is_related_to_nothing() {
    let mut client = Client::mounted();
    let header = client.next::<CloseRequest>().related();
    let mut message = Vec::new();
    write_element(&mut message, &header, &CLOSE).unwrap();
    let served = client.server.take(&message).unwrap();
    assert_eq!(elements(&served)[0].0.status, NtStatus::INVALID_PARAMETER);
}

#[test]
fn without_a_file_before_it_a_related_request_has_none() {
    let mut client = Client::mounted();
    let headers = (client.next::<EchoRequest>(), client.next::<CloseRequest>());
    let mut message = Vec::new();
    let mut compound = Compound::new(&mut message);
    compound.add(&headers.0, &EchoRequest {}).unwrap();
    compound.add(&headers.1.related(), &CLOSE).unwrap();
    let served = client.server.take(&message).unwrap();
    assert_eq!(elements(&served)[1].0.status, NtStatus::INVALID_HANDLE);
}

#[test]
fn a_read_in_a_compound_is_handed_out_in_its_place_and_served_though_its_file_is_closed() {
    let mut client = Client::mounted();
    let headers =
        (client.next::<CreateRequest<'_>>(), client.next::<ReadRequest<'_>>(), client.next::<CloseRequest>());
    let mut message = Vec::new();
    let mut compound = Compound::new(&mut message);
    compound.add(&headers.0, &create("hello")).unwrap();
    let read = ReadRequest { length: 5, file_id: FileId::RELATED, ..ReadRequest::default() };
    compound.add(&headers.1.related(), &read).unwrap();
    compound.add(&headers.2.related(), &CLOSE).unwrap();
    let served = client.server.take(&message).unwrap();
    let [Served::Answer(_), Served::Read(read), Served::Answer(closed)] = &served[..] else {
        panic!("{served:?}")
    };
    assert_eq!(client.server.serve_read(read), Ok(b"hello".to_vec()));
    assert_eq!(Header::parse(closed).unwrap().status, NtStatus::SUCCESS);
    assert_eq!(client.server.opens(), 0);
}

#[test]
fn a_cancel_has_no_answer() {
    let mut client = Client::mounted();
    assert_eq!(client.serve(&CancelRequest {}), []);
}
