//! Files of a server in memory, over streams in this process, and over a transport with RDMA that writes down what is asked of it.

mod bridge;
mod broker_script;
mod brokered;
mod buffers;
mod channels;
mod copies;
mod driver;
mod forked;
mod loopback;
mod misuse;
mod multichannel;
mod program;
mod prompt;
mod rdma_first;
mod serve;
mod server;
mod share;
mod silent;
mod small;
mod stuck;
mod transforms;
