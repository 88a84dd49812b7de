//! The shipped data is embedded: a new file in it makes the crate compile again.

fn main() {
    println!("cargo::rerun-if-changed=../../data");
}
