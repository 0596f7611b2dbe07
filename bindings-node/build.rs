//! Links the addon. It is never unloaded: threads of the runtime may still run in its code when a
//! worker thread of Node ends and gives the addon back.

fn main() {
    napi_build::setup();
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
