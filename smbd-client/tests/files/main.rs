//! Files of a server in memory, over streams in this process, and over a transport with RDMA that writes down what is asked of it.

mod buffers;
mod copies;
mod driver;
mod loopback;
mod misuse;
mod multichannel;
mod program;
mod prompt;
mod server;
mod share;
mod silent;
