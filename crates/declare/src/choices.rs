//! Choosers of enums: a word of the file decides which variant it is, and what else is read.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{DataEnum, DeriveInput, Fields, LitStr, Result, Variant};

use crate::fields;

/// `choose` of an enum.
pub fn chooser(input: &DeriveInput, data: &DataEnum) -> Result<TokenStream> {
    let name = &input.ident;
    let words: Vec<String> = data.variants.iter().map(word).collect::<Result<_>>()?;
    let value = |variant: &Variant| {
        let ident = &variant.ident;
        match &variant.fields {
            Fields::Unit => Ok(quote!(#name::#ident)),
            Fields::Named(_) => {
                let (lines, names) =
                    (fields::read(&variant.fields, Vec::new())?, variant.fields.iter().map(|field| &field.ident));
                Ok(quote!({ #lines #name::#ident { #(#names),* } }))
            }
            Fields::Unnamed(of) => Err(syn::Error::new_spanned(of, "a variant has fields with names, or none")),
        }
    };
    let values: Vec<TokenStream> = data.variants.iter().map(value).collect::<Result<_>>()?;
    let declare = |variant: &Variant| {
        let declarations = fields::declare(&variant.fields, Vec::new())?;
        Ok(quote!(|d: &mut crate::parameters::declarations::Declarations| { #declarations }))
    };
    let declares: Vec<TokenStream> = data.variants.iter().map(declare).collect::<Result<_>>()?;
    let chosen = fields::chosen(&quote!(key), &quote!(meaning), &words, &values);
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
                Ok(#chosen)
            }

            /// Says what the word may be, and what each asks for.
            pub fn declare_choice(
                d: &mut crate::parameters::declarations::Declarations,
                key: &str,
                meaning: &'static str,
            ) {
                d.choice(key, meaning, &[#(#words),*], &[#(#declares),*]);
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
