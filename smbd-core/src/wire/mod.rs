//! Messages of MS-SMBD section 2.
