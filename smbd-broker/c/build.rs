//! The name by which programs ask for the library. Its number changes when the header changes in a way that they notice.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libsmbd-broker.so.0");
}
