//! Readers of structs, and of the fields of a variant.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote};
use syn::parse::Parse;
use syn::{
    DeriveInput, Error, Expr, Field, Fields, FnArg, GenericArgument, LitStr, Pat, PathArguments, Result, Token, Type,
    parenthesized,
};

use crate::attribute::{Keys, Limits, Way, way, words};

/// What a `#[spec(…)]` says of all of it.
#[derive(Default)]
struct Whole {
    holds: Option<Expr>,
    with: Vec<FnArg>,
}

fn whole(input: &DeriveInput) -> Result<Whole> {
    let mut whole = Whole::default();
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("spec")) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("holds") {
                whole.holds = Some(meta.value()?.parse()?);
            } else if meta.path.is_ident("with") {
                let list;
                parenthesized!(list in meta.input);
                whole.with = list.parse_terminated(FnArg::parse, Token![,])?.into_iter().collect();
            } else {
                return Err(meta.error("expected `holds = function` or `with(name: Type)`"));
            }
            Ok(())
        })?;
    }
    Ok(whole)
}

/// `read` of a struct.
pub fn reader(input: &DeriveInput, fields: &Fields) -> Result<TokenStream> {
    let Fields::Named(_) = fields else {
        return Err(Error::new_spanned(&input.ident, "a `Spec` has fields with names"));
    };
    let Whole { holds, with } = whole(input)?;
    let given = with.iter().filter_map(|argument| match argument {
        FnArg::Typed(typed) => match &*typed.pat {
            Pat::Ident(name) => Some(&name.ident),
            _ => None,
        },
        FnArg::Receiver(_) => None,
    });
    let lines = read(fields, given.collect())?;
    let names = fields.iter().map(|field| &field.ident);
    let name = &input.ident;
    let holds = holds.map(|holds| quote!((#holds)(&spec, p)?;));
    // What a reader needs besides `p` is known only to whoever reads.
    let whole = with.is_empty().then(|| {
        quote! {
            impl crate::parameters::Spec for #name {
                fn read(p: &mut crate::parameters::Parameters) -> Result<#name, crate::parameters::SpecError> {
                    #name::read(p)
                }
            }
        }
    });
    Ok(quote! {
        #whole
        impl #name {
            /// Pulls what is declared.
            ///
            /// # Errors
            ///
            /// Something is missing, of the wrong kind, out of its range, or in conflict with the rest.
            pub fn read(p: &mut crate::parameters::Parameters #(, #with)*) -> Result<#name, crate::parameters::SpecError> {
                #lines
                let spec = #name { #(#names),* };
                #holds
                Ok(spec)
            }
        }
    })
}

/// A variable of the name of each field, read in order; `known` are the variables that there are before.
pub fn read<'a>(fields: &'a Fields, mut known: Vec<&'a Ident>) -> Result<TokenStream> {
    let mut lines = Vec::new();
    for field in fields {
        lines.push(line(field, &known)?);
        known.extend(&field.ident);
    }
    Ok(quote!(#(#lines)*))
}

/// The variable of a field, which may depend on those before it.
fn line(field: &Field, before: &[&Ident]) -> Result<TokenStream> {
    let (name, kind, meaning) = (&field.ident, &field.ty, words(&field.attrs));
    let said = || match meaning.is_empty() {
        true => Err(Error::new_spanned(field, "what does it mean? Its documentation is what users are told of it")),
        false => Ok(meaning.as_str()),
    };
    let each = |keys: &Keys, read: &dyn Fn(&LitStr) -> TokenStream| match keys {
        Keys::One(key) => read(key),
        Keys::Each(keys) => {
            let reads = keys.iter().map(read);
            quote!([#(#reads),*])
        }
    };
    let value = match way(field)? {
        Way::Number(quantity, keys, limits) => {
            let declared = declared(quantity, said()?, &limits, before);
            each(&keys, &|key| quote!(crate::parameters::declared::number(p, #key, &#declared)?))
        }
        Way::Text(keys, parse) => {
            let declared = declared("Text", said()?, &Limits::default(), &[]);
            each(&keys, &|key| match &parse {
                None => quote!(crate::parameters::declared::text(p, #key, &#declared)?),
                Some(parse) => quote!(crate::parameters::declared::parsed(p, #key, &#declared, #parse)?),
            })
        }
        Way::Choice(keys, list) if list.is_empty() => {
            let meaning = said()?;
            each(&keys, &|key| quote!(<#kind>::choose(p, #key, #meaning)?))
        }
        Way::Choice(keys, list) => {
            let meaning = said()?;
            let (words, values): (Vec<_>, Vec<_>) = list.into_iter().unzip();
            each(&keys, &|key| chosen(key, &meaning, &words, &values))
        }
        Way::Rows(keys) => {
            let declared = declared("Rows", said()?, &Limits::default(), &[]);
            let row = row(kind)?;
            each(&keys, &|key| quote!(crate::parameters::declared::rows(p, #key, &#declared, <#row>::read)?))
        }
        Way::Nested(None) => quote!(<#kind>::read(p)?),
        Way::Nested(Some(table)) => quote!(p.within(#table, |p| <#kind>::read(p))?),
        Way::By(expression) => quote!((#expression)?),
        Way::Given(expression) => quote!(#expression),
    };
    Ok(quote!(let #name: #kind = #value;))
}

/// The value of the word that a file has.
pub fn chosen(
    key: &impl ToTokens,
    meaning: &impl ToTokens,
    words: &[impl ToTokens],
    values: &[impl ToTokens],
) -> TokenStream {
    let index = 0..words.len();
    quote!(match crate::parameters::declared::word(p, #key, #meaning, &[#(#words),*])? {
        #(#index => #values,)*
        _ => unreachable!("one of the words"),
    })
}

/// What a table has rows of.
fn row(kind: &Type) -> Result<&Type> {
    if let Type::Path(path) = kind
        && let Some(vec) = path.path.segments.last().filter(|segment| segment.ident == "Vec")
        && let PathArguments::AngleBracketed(arguments) = &vec.arguments
        && let Some(GenericArgument::Type(row)) = arguments.args.first()
    {
        return Ok(row);
    }
    Err(Error::new_spanned(kind, "a table is a `Vec` of its rows"))
}

fn declared(quantity: &str, meaning: &str, limits: &Limits, before: &[&Ident]) -> TokenStream {
    let quantity = format_ident!("{quantity}");
    let amount = |limit: &Option<Expr>| match limit {
        Some(limit) if quantity == "Time" || quantity == "Period" => quote!(Some((#limit).as_ps())),
        Some(limit) => quote!(Some::<u64>(#limit)),
        None => quote!(None),
    };
    let (least, most, multiple_of) = (amount(&limits.least), amount(&limits.most), amount(&limits.multiple_of));
    let (power_of_two, or_zero) = (limits.power_of_two, limits.or_zero);
    let bounds = [&limits.least, &limits.most, &limits.multiple_of];
    let depends = bounds.into_iter().flatten().any(|bound| names_any(bound.to_token_stream(), before));
    let one_of = limits.one_of.as_ref().map_or(quote!(&[]), |list| quote!(#list));
    quote! {
        crate::parameters::declared::Declared {
            quantity: crate::parameters::Quantity::#quantity,
            meaning: #meaning,
            least: #least,
            most: #most,
            multiple_of: #multiple_of,
            power_of_two: #power_of_two,
            or_zero: #or_zero,
            depends: #depends,
            one_of: #one_of,
            words: &[],
        }
    }
}

fn names_any(tokens: TokenStream, names: &[&Ident]) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => names.contains(&&ident),
        TokenTree::Group(group) => names_any(group.stream(), names),
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}
