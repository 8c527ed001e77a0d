mod forward;
mod peer;
mod reverse;
mod scripted;

use std::time::Duration;

use smbd_smb2::wire::{Body, Header, write_element};

/// What has to come, in virtual time: a pump that stands still fails the test.
async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(300), future).await.expect("it comes")
}

fn build(header: &Header, body: &impl Body) -> Vec<u8> {
    let mut message = Vec::new();
    write_element(&mut message, header, body).unwrap();
    message
}
