//! Formulas of `study.toml`: numbers, names, `+ - * /`, parentheses, and `min` and `max` between two values. No
//! conditions, no loops.

use std::collections::BTreeSet;

use hopscope_files::problem::{Problem, place};
use hopscope_parts::nearest::did_you_mean;
use toml::Spanned;
use winnow::ModalResult;
use winnow::ascii::{digit1, multispace0};
use winnow::combinator::{Infix, Prefix, alt, cut_err, delimited, dispatch, expression, fail, opt, preceded};
use winnow::prelude::*;
use winnow::token::{one_of, take_while};

/// Formulas are a line, not a program.
const MOST_CHARACTERS: usize = 500;
const MOST_PARENTHESES: usize = 50;

/// A formula that was read.
#[derive(Clone, Debug)]
pub(super) struct Formula {
    term: Term,
    /// Each once, in order.
    names: Vec<String>,
}

#[derive(Clone, Debug)]
enum Term {
    Number(f64),
    Name(String),
    Negative(Box<Term>),
    Of(fn(f64, f64) -> f64, Box<(Term, Term)>),
}

/// A name, or `min` or `max`.
fn word<'t>(input: &mut &'t str) -> ModalResult<&'t str> {
    let begin = one_of(('a'..='z', 'A'..='Z', '_'));
    (begin, take_while(0.., ('a'..='z', 'A'..='Z', '0'..='9', '_'))).take().parse_next(input)
}

fn number(input: &mut &str) -> ModalResult<Term> {
    let digits = (digit1, opt(('.', digit1)), opt(('e', opt('-'), digit1)));
    digits.take().parse_to().map(Term::Number).parse_next(input)
}

fn operand(input: &mut &str) -> ModalResult<Term> {
    let name = word.verify(|word: &str| !matches!(word, "min" | "max"));
    let name = name.map(|word: &str| Term::Name(word.into()));
    let nested = delimited('(', cut_err(term), cut_err(')'));
    delimited(multispace0, alt((number, name, nested)), multispace0).parse_next(input)
}

/// `min` and `max` bind least: `2 * one min best` is the smaller of two values. `/` binds more than `*`.
fn term(input: &mut &str) -> ModalResult<Term> {
    fn both(of: fn(f64, f64) -> f64, a: Term, b: Term) -> ModalResult<Term> {
        Ok(Term::Of(of, Box::new((a, b))))
    }
    let mut sign = alt((word, one_of(['+', '-', '*', '/']).take()));
    expression(operand)
        .prefix(preceded(multispace0, '-').value(Prefix(5, |_: &mut _, a| Ok(Term::Negative(Box::new(a))))))
        .infix(dispatch! {sign;
            "min" => Infix::Left(1, |_: &mut _, a, b| both(f64::min, a, b)),
            "max" => Infix::Left(1, |_: &mut _, a, b| both(f64::max, a, b)),
            "+" => Infix::Left(2, |_: &mut _, a, b| both(|a, b| a + b, a, b)),
            "-" => Infix::Left(2, |_: &mut _, a, b| both(|a, b| a - b, a, b)),
            "*" => Infix::Left(3, |_: &mut _, a, b| both(|a, b| a * b, a, b)),
            "/" => Infix::Left(4, |_: &mut _, a, b| both(|a, b| a / b, a, b)),
            _ => fail,
        })
        .parse_next(input)
}

impl Formula {
    /// Reads one in the text `file`, which may use the names of `known`.
    pub(super) fn read(text: &Spanned<String>, file: u32, known: &[String]) -> Result<Formula, Problem> {
        let formula = Formula::parse(text, file)?;
        match formula.names().iter().find(|name| !known.contains(name)) {
            None => Ok(formula),
            Some(name) => {
                let help = format!("{} (known here: {})", did_you_mean(name, known), known.join(", "));
                let problem = Problem::at(place(file, text.span()), format!("nothing is called `{name}` here"));
                Err(problem.help(help.trim()))
            }
        }
    }

    /// Reads one that may use any names.
    pub(super) fn parse(text: &Spanned<String>, file: u32) -> Result<Formula, Problem> {
        let wrong = |title: String| Problem::at(place(file, text.span()), title);
        let written = text.get_ref();
        if written.chars().count() > MOST_CHARACTERS {
            return Err(wrong(format!("a formula has {MOST_CHARACTERS} characters at most")));
        }
        if written.matches('(').count() > MOST_PARENTHESES {
            return Err(wrong(format!("a formula has {MOST_PARENTHESES} pairs of parentheses at most")));
        }
        if written.contains(',') {
            let help = "`min` and `max` stand between two values: `2 * one min best`";
            return Err(wrong("a formula has no commas".into()).help(help));
        }
        let term = term.parse(written).map_err(|error| {
            let label = match &written[error.offset()..] {
                "" => "it ends too soon".to_string(),
                rest => format!("what is wrong begins with `{rest}`"),
            };
            let help = "numbers, names, + - * /, parentheses, and `min` or `max` between two values";
            wrong("this is no formula".into()).label(label).help(help)
        })?;
        let names = term.names().into_iter().map(String::from).collect();
        Ok(Formula { term, names })
    }

    /// The names that it uses.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Its value, with what each name stands for; not finite where it cannot be told.
    pub(super) fn value(&self, of: impl Fn(&str) -> f64) -> f64 {
        self.term.value(&of)
    }
}

impl Term {
    /// The names in it, each once.
    fn names(&self) -> BTreeSet<&str> {
        match self {
            Term::Number(_) => BTreeSet::new(),
            Term::Name(name) => BTreeSet::from([name.as_str()]),
            Term::Negative(term) => term.names(),
            Term::Of(_, terms) => &terms.0.names() | &terms.1.names(),
        }
    }

    fn value(&self, of: &impl Fn(&str) -> f64) -> f64 {
        match self {
            Term::Number(number) => *number,
            Term::Name(name) => of(name),
            Term::Negative(term) => -term.value(of),
            Term::Of(operator, terms) => operator(terms.0.value(of), terms.1.value(of)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Formula, Problem> {
        let known = ["one", "best"].map(String::from);
        Formula::read(&Spanned::new(0..text.len(), text.to_string()), 0, &known)
    }

    fn refused(text: &str) -> Problem {
        match read(text) {
            Err(problem) => problem,
            Ok(formula) => panic!("{text} is read as {formula:?}"),
        }
    }

    #[test]
    fn formulas_are_arithmetic() {
        let one = |name: &str| if name == "one" { 3.0 } else { 5.0 };
        for (text, expected) in [
            ("2 * one min best", 5.0),
            ("2 * (one min best)", 6.0),
            ("1 max (one min 2)", 2.0),
            ("one + 1 max best - 4", 4.0),
            ("8 / 2 * 4", 16.0),
            ("2 * 8 / 4 * 2", 8.0),
            ("1 / 2 / 4", 0.125),
            ("1 - 2 - 3", -4.0),
            ("-one * 2", -6.0),
            ("best * 8 / 1e9", 4e-8),
            ("100 * (best / one - 1)", 100.0 * (5.0 / 3.0 - 1.0)),
            ("2.5e-1", 0.25),
        ] {
            let found = read(text).map(|formula| formula.value(one));
            assert!(found.as_ref().is_ok_and(|found| (found - expected).abs() < 1e-12), "{text}: {found:?}");
        }
        let nested = format!("{}1{}", "-(".repeat(MOST_PARENTHESES), ")".repeat(MOST_PARENTHESES));
        assert_eq!(read(&nested).ok().map(|formula| formula.value(one)), Some(1.0));
    }

    #[test]
    fn what_is_no_formula_is_said() {
        for (text, said) in [
            ("", "no formula"),
            ("one +", "no formula"),
            ("one one", "no formula"),
            ("((((1", "no formula"),
            ("one > 2", "no formula"),
            ("1..2", "no formula"),
            ("é", "no formula"),
            ("sin(one)", "no formula"),
            ("min(one, best)", "no commas"),
            ("twoo * one", "nothing is called `twoo`"),
        ] {
            let title = refused(text).title;
            assert!(title.contains(said), "{text}: {title}");
        }
        for (text, begins) in [
            ("one > 2", "`> 2`"),
            ("one / 2 * -(3 + 1..5)", "`..5)`"),
            ("2 * (one min best", "ends too soon"),
            ("one + ", "ends too soon"),
            ("2 * (one min * best)", "`* best)`"),
        ] {
            let label = refused(text).label;
            assert!(label.contains(begins), "{text}: {label}");
        }
        refused(&"1+".repeat(400));
        refused(&"(".repeat(MOST_CHARACTERS));
        refused(&"-".repeat(MOST_CHARACTERS));
        assert!(refused("bets").help.contains("`best`"));
    }
}
