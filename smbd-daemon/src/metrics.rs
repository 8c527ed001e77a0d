//! Metrics by HTTP.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

use crate::trouble::Trouble;

/// The time that a request may take.
const WITHIN: Duration = Duration::from_secs(5);
/// Bytes of a request that are looked at.
const REQUEST_MAX: usize = 2048;

/// Serves metrics at an address, if there is one, with what `text` says, for as long as the runtime lives. Call it inside a runtime.
///
/// # Errors
/// It cannot be listened there.
pub async fn open(
    address: Option<SocketAddr>,
    text: impl Fn() -> String + Send + Sync + 'static,
) -> Result<(), Trouble> {
    let Some(address) = address else { return Ok(()) };
    let listener = TcpListener::bind(address)
        .await
        .map_err(|error| Trouble::other(&format!("cannot listen at {address} for metrics: {error}")))?;
    tokio::spawn(serve(listener, text));
    Ok(())
}

/// Answers requests one by one, for ever, with what `text` says.
async fn serve(listener: TcpListener, text: impl Fn() -> String) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // Whoever is too slow gets nothing.
                let _ = timeout(WITHIN, answer(stream, &text)).await;
            }
            // No file descriptors are left, for example.
            Err(_) => sleep(Duration::from_secs(1)).await,
        }
    }
}

async fn answer(mut stream: TcpStream, text: &impl Fn() -> String) -> io::Result<()> {
    let mut request = Vec::new();
    while !request.windows(4).any(|end| end == b"\r\n\r\n") && request.len() < REQUEST_MAX {
        if stream.read_buf(&mut request).await? == 0 {
            break;
        }
    }
    let (status, body) = if request.starts_with(b"GET /metrics ") || request.starts_with(b"GET / ") {
        ("200 OK", text())
    } else {
        ("404 Not Found", "GET /metrics\n".to_owned())
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    stream.shutdown().await
}
