//! Draws docs/bridge-loss.svg: `cargo run --release -p hopscope-pages --example bridge_loss > docs/bridge-loss.svg`

fn main() {
    print!("{}", hopscope_pages::bridge_loss::bridge_loss());
}
