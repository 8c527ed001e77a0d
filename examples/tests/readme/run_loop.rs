use smbd_core::{Action, Connection, Event, Input, Instant, Misuse, WrId, error::WorkError};

trait Nic {
    fn now(&self) -> Instant;
    fn post(&mut self, action: &Action) -> Result<(), (WrId, WorkError)>;
    fn completion(&mut self) -> Option<Input<'_>>;
}

/// Runs until there is nothing to do; returns when to come back at the latest.
fn run(
    connection: &mut Connection,
    nic: &mut impl Nic,
    mut upper: impl FnMut(&mut Connection, Event),
) -> Result<Option<Instant>, Misuse> {
    loop {
        let now = nic.now();
        while let Some(input) = nic.completion() {
            connection.handle(now, input)?;
        }
        match connection.poll_action() {
            Action::Notify(event) => upper(connection, event),
            Action::Wait(Some(at)) if at <= now => connection.handle(now, Input::Timeout)?,
            Action::Wait(until) => return Ok(until),
            post => {
                if let Err((id, error)) = nic.post(&post) {
                    connection.handle(now, Input::Failed { id, error })?;
                }
            }
        }
    }
}
