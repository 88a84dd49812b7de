//! Words of jobs and texts for readers with formulas in braces.

use std::collections::BTreeMap;

use hopscope_files::problem::{Problem, place};
use hopscope_parts::nearest::did_you_mean;
use hopscope_parts::parameters::Place;
use toml::Spanned;

use super::formula::Formula;
use super::numbers::{Numbers, amount_in_job, written};

/// The text with what `of` makes of each pair of braces.
fn filled(text: &str, at: Place, of: impl Fn(&str) -> Result<String, Problem>) -> Result<String, Problem> {
    let (mut filled, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once('{') {
        let Some((inside, after)) = after.split_once('}') else {
            return Err(Problem::at(at, "a brace is not closed").help("write {COLUMN}"));
        };
        filled.push_str(before);
        filled.push_str(&of(inside)?);
        rest = after;
    }
    Ok(filled + rest)
}

fn is_name(text: &str) -> bool {
    text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// A word of a job, with what a row has in its columns, or the study's numbers as jobs have them: bytes, percent,
/// microseconds.
pub(super) fn word(
    template: &Spanned<String>,
    file: u32,
    columns: &BTreeMap<String, String>,
    numbers: &Numbers,
) -> Result<String, Problem> {
    let at = place(file, template.span());
    filled(template.get_ref(), at, |inside| {
        if let Some(known) = columns.get(inside).cloned().or_else(|| numbers.get(inside).and_then(written)) {
            return Ok(known);
        }
        let number = |name: &str| {
            let column = || columns.get(name)?.parse().ok();
            numbers.get(name).and_then(amount_in_job).or_else(column)
        };
        let names: Vec<String> = columns.keys().chain(numbers.keys()).cloned().collect();
        if is_name(inside) {
            let problem = Problem::at(at, format!("there is neither a column nor a number `{inside}`"));
            return Err(problem.help(did_you_mean(inside, &names)));
        }
        let known: Vec<String> = names.into_iter().filter(|name| number(name).is_some()).collect();
        let formula = Formula::read(&Spanned::new(template.span(), inside.to_string()), file, &known)?;
        Ok(formula.value(|name| number(name).unwrap_or(f64::NAN)).to_string())
    })
}

/// A text for readers: values are rounded to whole numbers, or to as many decimals as stand behind a colon:
/// `{formula:.1}`.
pub(super) fn text(template: &str, at: Place, of: &dyn Fn(&str) -> Option<f64>) -> Result<String, Problem> {
    filled(template, at, |inside| {
        let (formula, decimals) = match inside.rsplit_once(":.") {
            Some((formula, decimals)) => match decimals.parse::<usize>() {
                Ok(decimals) if decimals <= 9 => (formula, decimals),
                _ => return Err(Problem::at(at, "one to nine decimals stand behind `:.`")),
            },
            None => (inside, 0),
        };
        let span = at.start as usize..at.end as usize;
        let formula = Formula::parse(&Spanned::new(span, formula.to_string()), at.file)?;
        if let Some(name) = formula.names().iter().find(|name| of(name).is_none()) {
            return Err(Problem::at(at, format!("nothing is called `{name}` here")));
        }
        Ok(format!("{:.decimals$}", formula.value(|name| of(name).unwrap_or(f64::NAN))))
    })
}

#[cfg(test)]
mod tests {
    use hopscope_parts::parameters::Value;

    use super::*;

    #[test]
    fn braces_hold_columns_numbers_and_formulas() {
        let columns = [("op", "read"), ("kib", "64")].map(|(name, value)| (name.to_string(), value.to_string())).into();
        let numbers: Numbers =
            [("cold".to_string(), Value::Share(130_000)), ("span".to_string(), Value::Bytes(4_096))].into();
        let word = |template: &str| word(&Spanned::new(0..1, template.to_string()), 0, &columns, &numbers);
        for (template, expected) in [
            ("--rw=rand{op}", "--rw=randread"),
            ("--bs={kib}k", "--bs=64k"),
            ("--size={span}", "--size=4096"),
            ("zoned:{100 - cold}/1:{cold}/99", "zoned:87/1:13/99"),
            ("{kib * 1024 max span}", "65536"),
        ] {
            assert_eq!(word(template).as_deref(), Ok(expected), "{template}");
        }
        for (template, said) in [
            ("{kb}", "neither a column nor a number `kb`"),
            ("{kib", "not closed"),
            ("{op * 2}", "nothing is called `op`"),
            ("{kib *}", "no formula"),
        ] {
            let found = word(template);
            assert!(found.as_ref().is_err_and(|problem| problem.title.contains(said)), "{template}: {found:?}");
        }
    }

    #[test]
    fn texts_are_rounded() {
        let of = |name: &str| (name == "gain").then_some(1.2345);
        let text = |template: &str| text(template, Place::default(), &of);
        assert_eq!(text("{100 * gain} %, {gain:.2}").as_deref(), Ok("123 %, 1.23"));
        assert!(text("{loss}").is_err_and(|problem| problem.title.contains("`loss`")));
        assert!(text("{gain:.x}").is_err());
    }
}
