//! The only unsafe code: libibverbs and librdmacm behind a safe interface.
