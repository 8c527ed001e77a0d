//! Packets between a broker and its owners.

use smbd_broker::wire::{
    Answer, Command, Event, HEADER_LEN, Kind, Message, Messages, Notice, PACKET_MAX, Packet, Request,
};

/// Whichever side reads a packet, it gives messages or one error; what was read is written again as it was.
pub fn broker_wire(data: &[u8]) {
    let mut errors = 0;
    for message in Messages::of(data) {
        assert_eq!(errors, 0, "something is read behind an error");
        match message {
            Ok(message) => {
                assert!(message.body.len() <= PACKET_MAX.min(data.len()) - HEADER_LEN);
                read(&message);
            }
            Err(error) => {
                errors += 1;
                assert!(error.to_string().len() < 200);
            }
        }
    }
}

fn read(message: &Message<'_>) {
    let mut readers = 0;
    let mut again = |write: &dyn Fn(&mut Packet), has_tag: bool| {
        readers += 1;
        let mut packet = Packet::new();
        write(&mut packet);
        let mut expected = Vec::new();
        let len = HEADER_LEN + message.body.len();
        expected.extend_from_slice(&u32::try_from(len).expect("short").to_le_bytes());
        expected.extend_from_slice(&message.kind.0.to_le_bytes());
        expected.extend_from_slice(&[0; 2]);
        // Only what is answered, or answers, has one.
        expected.extend_from_slice(&(if has_tag { message.tag } else { 0 }).to_le_bytes());
        expected.extend_from_slice(message.body);
        assert_eq!(packet.bytes(), expected);
    };
    let Message { kind: Kind(kind), .. } = *message;
    if let Ok(request) = Request::parse(message) {
        again(&|packet| request.write(packet), true);
    }
    if let Ok(Some(answer)) = Answer::parse(message) {
        again(&|packet| answer.write(packet), true);
    }
    if let Ok(Some(notice)) = Notice::parse(message) {
        again(&|packet| notice.write(packet), false);
    }
    if let Ok(command) = Command::parse(message) {
        assert_eq!(command.body_len(), message.body.len());
        again(&|packet| command.write(packet), matches!(command, Command::Rdma { .. }));
    }
    if let Ok(event) = Event::parse(message) {
        assert!(event.body_len() >= message.body.len());
        again(&|packet| event.write(packet), matches!(event, Event::RdmaDone { .. }));
    }
    assert!(readers <= 1, "{kind:#x} is a message of two kinds");
}
