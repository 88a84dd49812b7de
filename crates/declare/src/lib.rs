//! A number of a part, declared once: `#[derive(Spec)]` makes the reader, the errors, the ranges and what is said of each
//! number in schemas and documents from one declaration.
//!
//! ```ignore
//! /// A driver's behaviour.
//! #[derive(Spec)]
//! #[spec(holds = Spec::fits)]
//! pub struct Spec {
//!     /// Commands under way, at most.
//!     #[count("queue_depth", 1..=256)]
//!     commands: u64,
//!     /// Most bytes a command moves.
//!     #[bytes("transfer_max", 4_096..=1 << 20, multiple_of = 512)]
//!     transfer_max: u32,
//!     /// How it learns of completions.
//!     #[choice("notice", "interrupt" => Notice::Interrupt, "poll" => Notice::Poll)]
//!     notice: Notice,
//!     /// Its descriptor ring.
//!     #[nested("ring")]
//!     ring: ring::Spec,
//! }
//! ```
//!
//! | attribute of a field | what it reads |
//! |---|---|
//! | `#[count(KEY, …)]`, `bytes`, `time`, `period`, `rate`, `clocks`, `share` | a quantity; then, in any order, a range, `multiple_of = …`, `power_of_two`, `or_zero` (nothing of it, whatever the range), `one_of = &[…]` |
//! | `#[text(KEY)]`, `#[text(KEY, parse = function)]` | a text, or what the function makes of it; where it can make nothing, it says what is expected |
//! | `#[choice(KEY, "word" => value, …)]` | one of these words |
//! | `#[choice(KEY)]` | one of the words of the field's type, an enum that derives `Spec`: each variant is its name in small letters or its `#[word("…")]`, and its fields are read where it is chosen |
//! | `#[rows(KEY)]` | a table: a `Vec` of a type that derives `Spec`, a row each |
//! | `#[nested]`, `#[nested("name")]` | another `Spec`, whose keys stand beside these, or in the table `name` |
//! | `#[by(expression)]` | what the expression reads from `p`, which is what the field's type declares; `declares = function` says what else it is |
//! | `#[given(expression)]` | nothing |
//!
//! `KEY` is a text, or a list of texts where the field is an array. Fields are read in order: a range and an expression
//! may name those before. The words of a field's documentation are what is said of its number. `#[spec(holds = f)]`
//! names a function of the finished value and `p` for what several numbers must be together, `#[spec(with(name: Type))]`
//! what a reader needs besides `p`, and `#[spec(of(name: Type))]` what whoever declares needs as well.
//!
//! The same declarations say what any file may hold (`declare`), before there is one: what a choice asks for is not in
//! every file, and limits that name other fields are not known.
//!
//! The code that is made refers to `crate::parameters` and `crate::parameters::declared` of the crate that uses it.

mod attribute;
mod choices;
mod fields;

use proc_macro::TokenStream;
use syn::{Data, DeriveInput, parse_macro_input};

/// Makes `read` and `declare`: see the crate's documentation.
#[proc_macro_derive(
    Spec,
    attributes(spec, count, bytes, time, period, rate, clocks, share, text, choice, rows, nested, by, given, word)
)]
pub fn spec(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    let made = match &input.data {
        Data::Struct(data) => fields::reader(&input, &data.fields),
        Data::Enum(data) => choices::chooser(&input, data),
        Data::Union(_) => Err(syn::Error::new_spanned(&input.ident, "a `Spec` is a struct or an enum")),
    };
    made.unwrap_or_else(syn::Error::into_compile_error).into()
}
