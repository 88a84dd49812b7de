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
    /// What both reading and declaring need.
    of: Vec<FnArg>,
    /// What reading needs besides.
    with: Vec<FnArg>,
}

fn whole(input: &DeriveInput) -> Result<Whole> {
    let mut whole = Whole::default();
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("spec")) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("holds") {
                whole.holds = Some(meta.value()?.parse()?);
            } else if meta.path.is_ident("of") || meta.path.is_ident("with") {
                let list;
                parenthesized!(list in meta.input);
                let list = list.parse_terminated(FnArg::parse, Token![,])?.into_iter().collect();
                *(if meta.path.is_ident("of") { &mut whole.of } else { &mut whole.with }) = list;
            } else {
                return Err(meta.error("expected `holds = function`, `of(name: Type)` or `with(name: Type)`"));
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
    let Whole { holds, of, with } = whole(input)?;
    let given = of.iter().chain(&with).filter_map(|argument| match argument {
        FnArg::Typed(typed) => match &*typed.pat {
            Pat::Ident(name) => Some(&name.ident),
            _ => None,
        },
        FnArg::Receiver(_) => None,
    });
    let given: Vec<&Ident> = given.collect();
    let (lines, declarations) = (read(fields, given.clone())?, declare(fields, given)?);
    let names = fields.iter().map(|field| &field.ident);
    let name = &input.ident;
    let holds = holds.map(|holds| quote!((#holds)(&spec, p)?;));
    // What is needed besides is known only to whoever declares, or reads.
    let declares = of.is_empty().then(|| {
        quote! {
            impl crate::parameters::declarations::Declares for #name {
                fn declare(d: &mut crate::parameters::declarations::Declarations) {
                    #name::declare(d);
                }
            }
        }
    });
    let whole = (of.is_empty() && with.is_empty()).then(|| {
        quote! {
            impl crate::parameters::Spec for #name {
                fn read(p: &mut crate::parameters::Parameters) -> Result<#name, crate::parameters::SpecError> {
                    #name::read(p)
                }
            }
        }
    });
    Ok(quote! {
        #declares
        #whole
        impl #name {
            /// Says what is declared, in the order in which it is read.
            pub fn declare(d: &mut crate::parameters::declarations::Declarations #(, #of)*) {
                #declarations
            }

            /// Pulls what is declared.
            ///
            /// # Errors
            ///
            /// Something is missing, of the wrong kind, out of its range, or in conflict with the rest.
            pub fn read(p: &mut crate::parameters::Parameters #(, #of)* #(, #with)*) -> Result<#name, crate::parameters::SpecError> {
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
            let declared = declared(quantity, said()?, &limits, (before, false));
            each(&keys, &|key| quote!(crate::parameters::declared::number(p, #key, &#declared)?))
        }
        Way::Text(keys, parse) => {
            let declared = declared("Text", said()?, &Limits::default(), (&[], false));
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
            let declared = declared("Rows", said()?, &Limits::default(), (&[], false));
            let row = row(kind)?;
            each(&keys, &|key| quote!(crate::parameters::declared::rows(p, #key, &#declared, <#row>::read)?))
        }
        Way::Nested(None) => quote!(<#kind>::read(p)?),
        Way::Nested(Some(table)) => quote!(p.within(#table, |p| <#kind>::read(p))?),
        Way::By(expression, _) => quote!((#expression)?),
        Way::Given(expression) => quote!(#expression),
    };
    Ok(quote!(let #name: #kind = #value;))
}

/// What each field declares, in order, of any file; `known` are the variables that only a reader has.
pub fn declare<'a>(fields: &'a Fields, mut known: Vec<&'a Ident>) -> Result<TokenStream> {
    let mut lines = Vec::new();
    for field in fields {
        lines.push(declaration(field, &known)?);
        known.extend(&field.ident);
    }
    Ok(quote!(#(#lines)*))
}

fn declaration(field: &Field, before: &[&Ident]) -> Result<TokenStream> {
    let (kind, meaning) = (&field.ty, words(&field.attrs));
    let declares = quote!(crate::parameters::declarations::Declares);
    Ok(match way(field)? {
        Way::Number(quantity, keys, limits) => {
            let declared = declared(quantity, &meaning, &limits, (before, true));
            let keys = keys.list();
            quote!(#(d.key(#keys, #declared);)*)
        }
        Way::Text(keys, _) => {
            let (keys, declared) = (keys.list(), declared("Text", &meaning, &Limits::default(), (&[], true)));
            quote!(#(d.key(#keys, #declared);)*)
        }
        Way::Choice(keys, list) if list.is_empty() => {
            let keys = keys.list();
            quote!(#(<#kind>::declare_choice(d, #keys, #meaning);)*)
        }
        Way::Choice(keys, list) => {
            let (keys, words) = (keys.list(), list.iter().map(|(word, _)| word));
            let words = quote!(&[#(#words),*]);
            quote!(#(d.choice(#keys, #meaning, #words, &[]);)*)
        }
        Way::Rows(keys) => {
            let (keys, declared) = (keys.list(), declared("Rows", &meaning, &Limits::default(), (&[], true)));
            let row = row(kind)?;
            quote!(#(d.rows(#keys, #declared, <#row as #declares>::declare);)*)
        }
        Way::Nested(None) | Way::By(_, None) => quote!(<#kind as #declares>::declare(d);),
        Way::Nested(Some(table)) => quote!(d.within(#table, <#kind as #declares>::declare);),
        Way::By(_, Some(declares)) => quote!(d.and(#declares);),
        Way::Given(_) => quote!(),
    })
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

/// The declaration of a number, whose limits may name what was read `before`; of any file, those do not hold yet.
fn declared(quantity: &str, meaning: &str, limits: &Limits, (before, of_any_file): (&[&Ident], bool)) -> TokenStream {
    let quantity = format_ident!("{quantity}");
    let depends = |limit: &Expr| names_any(limit.to_token_stream(), before);
    let amount = |limit: &Option<Expr>| match limit {
        Some(limit) if of_any_file && depends(limit) => quote!(None),
        Some(limit) if quantity == "Time" || quantity == "Period" => quote!(Some((#limit).as_ps())),
        Some(limit) => quote!(Some::<u64>(#limit)),
        None => quote!(None),
    };
    let depends = [&limits.least, &limits.most, &limits.multiple_of].into_iter().flatten().any(depends);
    let (least, most, multiple_of) = (amount(&limits.least), amount(&limits.most), amount(&limits.multiple_of));
    let (power_of_two, or_zero) = (limits.power_of_two, limits.or_zero);
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
