mod fields;
mod packets;
mod samples;
mod strategies;
