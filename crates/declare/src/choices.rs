//! Choosers of enums: a word of the file decides which variant it is, and what else is read.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{DataEnum, DeriveInput, Fields, LitStr, Result, Variant};

use crate::fields;

/// `choose` of an enum.
pub fn chooser(input: &DeriveInput, data: &DataEnum) -> Result<TokenStream> {
    let name = &input.ident;
    let words: Vec<String> = data.variants.iter().map(word).collect::<Result<_>>()?;
    let mut arms = Vec::new();
    for (index, variant) in data.variants.iter().enumerate() {
        let ident = &variant.ident;
        arms.push(match &variant.fields {
            Fields::Unit => quote!(#index => #name::#ident,),
            Fields::Named(_) => {
                let (lines, names) = (fields::read(&variant.fields)?, variant.fields.iter().map(|field| &field.ident));
                quote!(#index => { #lines #name::#ident { #(#names),* } })
            }
            Fields::Unnamed(of) => return Err(syn::Error::new_spanned(of, "a variant has fields with names, or none")),
        });
    }
    Ok(quote! {
        impl #name {
            /// Pulls the word, and what it asks for.
            ///
            /// # Errors
            ///
            /// It is missing, or none of the words; or what it asks for is wrong.
            pub fn choose(
                p: &mut crate::parameters::Parameters,
                key: &str,
                meaning: &'static str,
            ) -> Result<#name, crate::parameters::SpecError> {
                Ok(match crate::declared::word(p, key, meaning, &[#(#words),*])? {
                    #(#arms)*
                    _ => unreachable!("one of the words"),
                })
            }
        }
    })
}

/// As the file has it: `#[word("…")]`, or the variant's name in small letters.
fn word(variant: &Variant) -> Result<String> {
    match variant.attrs.iter().find(|attribute| attribute.path().is_ident("word")) {
        Some(attribute) => attribute.parse_args::<LitStr>().map(|word| word.value()),
        None => {
            let mut word = String::new();
            for letter in variant.ident.to_string().chars() {
                if letter.is_uppercase() && !word.is_empty() {
                    word.push(' ');
                }
                word.extend(letter.to_lowercase());
            }
            Ok(word)
        }
    }
}
