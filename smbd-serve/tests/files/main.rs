//! The server as a library and as a program, over streams in this process, over a transport with RDMA, and behind a broker.

mod bridge;
mod broker_script;
mod brokered;
mod channels;
mod forked;
mod lines;
mod program;
mod rdma_first;
mod serve;
mod service;
mod transforms;
mod users;
mod words;
