//! What a client has of its host, for those who look after the server.

use smbd_smb2::server::ConnectionId;

use super::host::Host;
use crate::served::Served;

impl<F: Served> Host<F> {
    /// How many files a client has open, over all of its connections: [`News::Client`](crate::News::Client) says which it is. 0: it has left.
    #[must_use]
    pub fn open_count_of(&self, client: ConnectionId) -> usize {
        self.files().open_count_of(client)
    }
}
