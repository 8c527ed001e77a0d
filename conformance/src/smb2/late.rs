//! Answers of a server that takes longer with each request: word that it is under way, and the answer (3.3.4.2, 3.3.4.3).

use smbd_smb2::wire::header::{async_field, field};
use smbd_smb2::wire::{
    Command, Elements, ErrorResponse, Flags, Header, NtStatus, Target, WireError, write_element,
};

/// What such a server sends in the place of this message: the answers before the last one, word that the last request is under way, and
/// its answer. What brings the client an id or a key is answered at once.
pub(crate) fn announced(message: Vec<u8>) -> Vec<Vec<u8>> {
    match taken_apart(&message) {
        Ok(Some(messages)) => messages,
        Ok(None) | Err(_) => vec![message],
    }
}

fn taken_apart(message: &[u8]) -> Result<Option<Vec<Vec<u8>>>, WireError> {
    let elements: Vec<_> = Elements::new(message).collect::<Result<_, _>>()?;
    let Some((last, others)) = elements.split_last() else { return Ok(None) };
    if [Command::NEGOTIATE, Command::SESSION_SETUP, Command::TREE_CONNECT].contains(&last.header.command) {
        return Ok(None);
    }
    let mut messages = Vec::new();
    if let Some(before) = others.last() {
        let mut others = message.get(..last.offset).unwrap_or_default().to_vec();
        field::NEXT_COMMAND.set(others.get_mut(before.offset..).unwrap_or_default(), 0)?;
        messages.push(others);
    }
    // Credits come with the interim answer.
    let async_id = last.header.message_id.0.wrapping_add(1);
    let interim = Header { status: NtStatus::PENDING, target: Target::Async { async_id }, ..last.header };
    let mut word = Vec::new();
    write_element(&mut word, &interim, &ErrorResponse::default())?;
    messages.push(word);
    let mut answer = last.bytes.to_vec();
    field::FLAGS.set(&mut answer, last.header.flags.with(Flags::ASYNC_COMMAND, true))?;
    async_field::ASYNC_ID.set(&mut answer, async_id)?;
    field::CREDITS.set(&mut answer, 0)?;
    messages.push(answer);
    Ok(Some(messages))
}
