//! Ways to embed `smbd-core`. The programs are in `examples/examples/`: `minimal` first.
