//! What stands behind a field: its declaration and its documentation.

use proc_macro2::Ident;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Attribute, Error, Expr, Field, LitStr, Meta, Result, Token, bracketed};

/// The quantities, by the attribute and by the name that `Quantity` has for them.
const QUANTITIES: [(&str, &str); 7] = [
    ("count", "Count"),
    ("bytes", "Bytes"),
    ("time", "Time"),
    ("period", "Period"),
    ("rate", "Rate"),
    ("clocks", "Clocks"),
    ("share", "Share"),
];

/// How a field is read.
pub enum Way {
    /// One number, or one each.
    Number(&'static str, Keys, Box<Limits>),
    /// A text, or what a function makes of it.
    Text(Keys, Option<Expr>),
    /// One of these words; those of the field's type where there are none.
    Choice(Keys, Vec<(LitStr, Expr)>),
    Rows(Keys),
    Nested(Option<LitStr>),
    /// What an expression reads, and what that declares; the field's type does where nothing is said.
    By(Box<Expr>, Option<Expr>),
    Given(Expr),
}

/// Where a field is written.
pub enum Keys {
    One(LitStr),
    Each(Vec<LitStr>),
}

/// What a number may be.
#[derive(Default)]
pub struct Limits {
    pub least: Option<Expr>,
    pub most: Option<Expr>,
    pub multiple_of: Option<Expr>,
    pub power_of_two: bool,
    pub or_zero: bool,
    pub one_of: Option<Expr>,
}

impl Keys {
    /// All of them.
    pub fn list(&self) -> Vec<&LitStr> {
        match self {
            Keys::One(key) => vec![key],
            Keys::Each(keys) => keys.iter().collect(),
        }
    }
}

impl Parse for Keys {
    fn parse(input: ParseStream) -> Result<Keys> {
        if !input.peek(syn::token::Bracket) {
            return input.parse().map(Keys::One);
        }
        let list;
        bracketed!(list in input);
        let keys = Punctuated::<LitStr, Token![,]>::parse_terminated(&list)?;
        Ok(Keys::Each(keys.into_iter().collect()))
    }
}

mod word {
    syn::custom_keyword!(power_of_two);
    syn::custom_keyword!(multiple_of);
    syn::custom_keyword!(or_zero);
    syn::custom_keyword!(parse);
    syn::custom_keyword!(one_of);
    syn::custom_keyword!(declares);
}

struct Number(Keys, Limits);

impl Parse for Number {
    fn parse(input: ParseStream) -> Result<Number> {
        let (keys, mut limits) = (input.parse()?, Limits::default());
        while next(input)? {
            if input.parse::<Option<word::power_of_two>>()?.is_some() {
                limits.power_of_two = true;
            } else if input.parse::<Option<word::or_zero>>()?.is_some() {
                limits.or_zero = true;
            } else if input.parse::<Option<word::one_of>>()?.is_some() {
                input.parse::<Token![=]>()?;
                limits.one_of = Some(input.parse()?);
            } else if input.parse::<Option<word::multiple_of>>()?.is_some() {
                input.parse::<Token![=]>()?;
                limits.multiple_of = Some(input.parse()?);
            } else {
                match input.parse()? {
                    Expr::Range(range)
                        if matches!(range.limits, syn::RangeLimits::Closed(_)) || range.end.is_none() =>
                    {
                        (limits.least, limits.most) = (range.start.map(|of| *of), range.end.map(|of| *of));
                    }
                    other => {
                        return Err(Error::new_spanned(other, "expected a range that includes its end: `1..=256`"));
                    }
                }
            }
        }
        Ok(Number(keys, limits))
    }
}

struct Text(Keys, Option<Expr>);

impl Parse for Text {
    fn parse(input: ParseStream) -> Result<Text> {
        let keys = input.parse()?;
        if !next(input)? {
            return Ok(Text(keys, None));
        }
        input.parse::<word::parse>()?;
        input.parse::<Token![=]>()?;
        Ok(Text(keys, Some(input.parse()?)))
    }
}

struct By(Expr, Option<Expr>);

impl Parse for By {
    fn parse(input: ParseStream) -> Result<By> {
        let expression = input.parse()?;
        if !next(input)? {
            return Ok(By(expression, None));
        }
        input.parse::<word::declares>()?;
        input.parse::<Token![=]>()?;
        Ok(By(expression, Some(input.parse()?)))
    }
}

struct Choice(Keys, Vec<(LitStr, Expr)>);

impl Parse for Choice {
    fn parse(input: ParseStream) -> Result<Choice> {
        let (keys, mut words) = (input.parse()?, Vec::new());
        while next(input)? {
            let word = input.parse()?;
            input.parse::<Token![=>]>()?;
            words.push((word, input.parse()?));
        }
        Ok(Choice(keys, words))
    }
}

/// Whether something follows, past its comma.
fn next(input: ParseStream) -> Result<bool> {
    if input.is_empty() {
        return Ok(false);
    }
    input.parse::<Token![,]>()?;
    Ok(!input.is_empty())
}

/// The declaration of a field.
pub fn way(field: &Field) -> Result<Way> {
    let mut ways = Vec::new();
    for attribute in &field.attrs {
        ways.extend(of(attribute)?);
    }
    let mut ways = ways.into_iter();
    match (ways.next(), ways.next()) {
        (Some(way), None) => Ok(way),
        (None, _) => Err(Error::new_spanned(field, "what is it in the file? Declare it: `#[count(\"key\")]`")),
        (Some(_), Some(_)) => Err(Error::new_spanned(field, "it is declared twice")),
    }
}

fn of(attribute: &Attribute) -> Result<Option<Way>> {
    let Some(name) = attribute.path().get_ident().map(Ident::to_string) else { return Ok(None) };
    if let Some((_, quantity)) = QUANTITIES.iter().find(|(known, _)| *known == name) {
        let Number(keys, limits) = attribute.parse_args()?;
        return Ok(Some(Way::Number(quantity, keys, Box::new(limits))));
    }
    Ok(Some(match name.as_str() {
        "text" => {
            let Text(keys, parse) = attribute.parse_args()?;
            Way::Text(keys, parse)
        }
        "choice" => {
            let Choice(keys, words) = attribute.parse_args()?;
            Way::Choice(keys, words)
        }
        "rows" => Way::Rows(attribute.parse_args()?),
        "nested" if matches!(attribute.meta, Meta::Path(_)) => Way::Nested(None),
        "nested" => Way::Nested(Some(attribute.parse_args()?)),
        "by" => {
            let By(expression, declares) = attribute.parse_args()?;
            Way::By(Box::new(expression), declares)
        }
        "given" => Way::Given(attribute.parse_args()?),
        _ => return Ok(None),
    }))
}

/// What documentation says, in one line, without the brackets of links.
pub fn words(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(doc) if doc.path.is_ident("doc") => match &doc.value {
            Expr::Lit(literal) => match &literal.lit {
                syn::Lit::Str(text) => Some(text.value().trim().to_string()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    });
    lines.collect::<Vec<_>>().join(" ").replace(['[', ']'], "")
}
