//! Metrics by HTTP.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

/// The time that a request may take.
const WITHIN: Duration = Duration::from_secs(5);
/// Bytes of a request that are looked at.
const REQUEST_MAX: usize = 2048;

/// Listens.
///
/// # Errors
/// Those of the system.
pub async fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    TcpListener::bind(address).await
}

/// Answers requests one by one, for ever, with what `text` says.
pub async fn serve(listener: TcpListener, text: impl Fn() -> String) {
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
