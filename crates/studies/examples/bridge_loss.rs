//! Draws docs/bridge-loss.svg: `cargo run --release -p hopscope-studies --example bridge_loss > docs/bridge-loss.svg`

fn main() {
    print!("{}", hopscope_studies::piix4e::picture::bridge_loss());
}
